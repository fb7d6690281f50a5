"""Reports for people: what they tell, and how it looks as a page, as text and as XML."""
