"""Reports for people: what they tell, and how it looks as a page, as text, as XML and as CSV.

Modules, in reading order:
    content: gathers what a report tells.
    page: the report as an HTML page.
    markdown: the report as text.
    junit: the report as XML for CI.
    table: the report as CSV.
    comparison: compares methods, as a page, as text and as CSV.
    charts: all charts, as SVG.
    templates: HTML templates, which escape whatever is put into them.
"""
