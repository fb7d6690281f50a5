"""A gazetteer as one meets it: five languages, blank nodes, shared names, sources, planted errors, no ontology.

`make(places)` gives it as text and as truth, `Gazetteer.write(folder)` as files. The same arguments give the same bytes.
"""

import csv
import datetime
import io
import random
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyoxigraph as ox

BASE = "https://gazetteer.example/"
TERMS = f"{BASE}terms#"
PLACES = f"{BASE}place/"
PREFIXES = {
    "g": TERMS,
    "p": PLACES,
    "src": f"{BASE}source/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "schema": "http://schema.org/",
    "dct": "http://purl.org/dc/terms/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "wikibase": "http://wikiba.se/ontology#",
}
LANGUAGES = ("en", "de", "es", "ja", "ar")
COUNTRIES = {
    "Bolivia": ("Bolivia", "Bolivien", "Bolivia", "ボリビア", "بوليفيا"),
    "Botswana": ("Botswana", "Botsuana", "Botsuana", "ボツワナ", "بوتسوانا"),
    "Lebanon": ("Lebanon", "Libanon", "Líbano", "レバノン", "لبنان"),
    "Japan": ("Japan", "Japan", "Japón", "日本", "اليابان"),
    "Austria": ("Austria", "Österreich", "Austria", "オーストリア", "النمسا"),
}
CAPITALS = {
    "Bolivia": ("Sucre", ("Sucre", "Sucre", "Sucre", "スクレ", "سوكري")),
    "Botswana": ("Gaborone", ("Gaborone", "Gaborone", "Gaborone", "ハボローネ", "غابورون")),
    "Lebanon": ("Beirut", ("Beirut", "Beirut", "Beirut", "ベイルート", "بيروت")),
    "Japan": ("Tokyo", ("Tokyo", "Tokio", "Tokio", "東京", "طوكيو")),
    "Austria": ("Vienna", ("Vienna", "Wien", "Viena", "ウィーン", "فيينا")),
}
COCHABAMBA = ("Cochabamba", "Cochabamba", "Cochabamba", "コチャバンバ", "كوتشابامبا")
SYLLABLES = (
    ("ka", "カ", "كا"), ("mo", "モ", "مو"), ("ri", "リ", "ري"), ("ta", "タ", "تا"), ("lu", "ル", "لو"),
    ("na", "ナ", "نا"), ("so", "ソ", "سو"), ("be", "ベ", "بي"), ("do", "ド", "دو"), ("mi", "ミ", "مي"),
)  # fmt: skip
PREDICATES = """\
g:country rdfs:label "Land"@de, "country"@en, "país"@es, "国"@ja, "البلد"@ar .
g:capital rdfs:label "Hauptstadt"@de, "capital"@en, "capital"@es, "首都"@ja, "العاصمة"@ar .
g:elevation rdfs:label "Höhe in Metern"@de, "elevation in metres"@en .
g:founded rdfs:label "gegründet am"@de, "founded on"@en .
g:history rdfs:label "Geschichte"@de, "history"@en .
g:population rdfs:label "Einwohnerzahl"@de, "population"@en .
g:City rdfs:label "Stadt"@de, "city"@en, "都市"@ja, "مدينة"@ar .
g:Country rdfs:label "Staat"@de, "country"@en, "国"@ja, "بلد"@ar .
g:PopulationObservation rdfs:label "population observation"@en .
wd:P19 a wikibase:Property ; rdfs:label "lugar de nacimiento"@es, "place of birth"@en ; wikibase:directClaim wdt:P19 .
"""
HISTORY = (
    "{name} was a resting place of traders before it had walls, and its oldest street still follows their path. "
    "A fire took the lower town twice, and twice the river was moved so that the mills could be built again. "
    "The railway came late, the airport later, and the market, which is held on the second day of every week, "
    "has outlived both of the governments that forbade it. Whoever reads this far has read the whole of it."
)
LAST_WORDS = "has read the whole of it."


@dataclass(frozen=True, kw_only=True)
class City:
    """One place, and what the gazetteer says of it."""

    name: str
    """The last part of its IRI."""
    labels: tuple[str, ...]
    """In the order of LANGUAGES; empty where it has none in a language."""
    country: str
    said: str
    """The country that the gazetteer states, right or wrong."""
    elevation: int
    stated: int
    """The elevation that the gazetteer states."""
    founded: datetime.date
    counts: tuple[tuple[int, int], ...]
    """Year and population."""
    history: str
    described: bool

    @property
    def lines(self) -> list[str]:
        """Its triples in Turtle, one to a line, those about blank nodes in one line each node."""
        subject = f"p:{self.name}"
        out = [f"{subject} rdf:type g:City ."]
        out += [
            f'{subject} rdfs:label "{text}"@{tag} .'
            for tag, text in zip(LANGUAGES, self.labels, strict=True)
            if text
        ]
        out += [f"{subject} g:country p:{self.said} .", f"{subject} g:elevation {self.stated} ."]
        out += [f'{subject} g:founded "{self.founded}"^^xsd:date .']
        out += [f'{subject} dct:modified "2024-0{1 + self.elevation % 9}-17"^^xsd:date .']
        out += [f"{subject} owl:sameAs wd:Q{100_000 + self.elevation} ."]
        if self.history:
            out += [f'{subject} g:history "{self.history}"@en .']
        if self.described:
            out += [f'{subject} schema:description "city in {self.country}"@en .']
        for year, count in self.counts:
            out += [
                f"{subject} g:population [ rdf:type g:PopulationObservation ; g:value {count} ; "
                f'g:year "{year}"^^xsd:gYear ] .'
            ]
        return out


@dataclass(frozen=True, kw_only=True)
class Gazetteer:
    """The graph and the truth about it."""

    cities: list[City]
    people: int
    repeated: int
    """Lines that the Turtle file states twice."""
    wrong: frozenset[tuple[str, str, str]] = field(default_factory=frozenset)
    """The planted errors, as N-Triples has them."""

    @property
    def _head(self) -> str:
        return "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())

    @cached_property
    def _common(self) -> list[str]:
        lines = [line for line in PREDICATES.splitlines() if line]
        for name, labels in COUNTRIES.items():
            lines += [f"p:{name} rdf:type g:Country ."]
            lines += [f'p:{name} rdfs:label "{t}"@{tag} .' for tag, t in zip(LANGUAGES, labels, strict=True)]
            lines += [f"p:{name} g:capital p:{'Cochabamba' if name == 'Bolivia' else CAPITALS[name][0]} ."]
        for number in range(self.people):
            city = self.cities[number % len(self.cities)]
            lines += [f'p:Person{number} rdfs:label "Ines {city.labels[0] or city.name}"@en .']
            lines += [f"p:Person{number} wdt:P19 p:{city.name} ."]
        return lines

    def turtle(self) -> str:
        """Everything in one default graph, with some triples stated twice."""
        lines = self._common + [line for city in self.cities for line in city.lines]
        again = [line for line in lines if " g:country " in line and line.startswith("p:")][: self.repeated]
        return self._head + "\n".join(lines + again) + "\n"

    def trig(self) -> str:
        """A named graph for each country, with its source in the default graph."""
        parts = [self._head, *self._common]
        for name in COUNTRIES:
            graph = f"src:{name}"
            parts += [f"{graph} dct:source <https://statistics.example/{name}?page=1&lang=en> ."]
            parts += [f'{graph} dct:title "Statistical yearbook of {name}"@en .', f"{graph} {{"]
            parts += [line for city in self.cities if city.country == name for line in city.lines]
            parts += ["}"]
        return "\n".join(parts) + "\n"

    @cached_property
    def quads(self) -> list[ox.Quad]:
        """What the Turtle file states, repeated triples included."""
        return list(ox.parse(self.turtle(), format=ox.RdfFormat.TURTLE))

    @cached_property
    def gold(self) -> dict[tuple[str, str, str], bool]:
        """Every triple without a blank node, and whether it is true."""
        found = {}
        for triple in self.quads:
            terms = (triple.subject, triple.predicate, triple.object)
            if not any(isinstance(term, ox.BlankNode) for term in terms):
                found[str(terms[0]), str(terms[1]), str(terms[2])] = tuple(map(str, terms)) not in self.wrong
        return found

    def csv(self) -> str:
        """The gold file."""
        out = io.StringIO()
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["subject", "predicate", "object", "label"])
        for (subject, predicate, value), true in self.gold.items():
            rows.writerow([subject, predicate, value, int(true)])
        return out.getvalue()

    def write(self, folder: Path) -> Path:
        """Write gazetteer.ttl, gazetteer.trig and gold.csv; return the folder."""
        (folder / "gazetteer.ttl").write_text(self.turtle(), encoding="utf-8")
        (folder / "gazetteer.trig").write_text(self.trig(), encoding="utf-8")
        (folder / "gold.csv").write_text(self.csv(), encoding="utf-8")
        return folder


def _triple(subject: str, predicate: str, value: str) -> tuple[str, str, str]:
    """Return a triple of the gazetteer as N-Triples has it; a value that is a number is an integer."""
    said = f'"{value}"^^<{PREFIXES["xsd"]}integer>' if value.isdigit() else f"<{PLACES}{value}>"
    return f"<{PLACES}{subject}>", f"<{TERMS}{predicate}>", said


def make(places: int = 20, seed: int = 1) -> Gazetteer:
    """Make a gazetteer of so many cities; each is about 19 triples, 8 of them with blank nodes."""
    dice = random.Random(seed)
    named = [(name, labels, country) for country, (name, labels) in CAPITALS.items()]
    named += [("Cochabamba", COCHABAMBA, "Bolivia")]
    described = {"Springfield1", "Springfield2"}
    spring = ("Springfield", "Springfield", "Springfield", "スプリングフィールド", "سبرينغفيلد")
    named += [("Springfield1", spring, "Austria"), ("Springfield2", spring, "Botswana")]
    named += [("Zahle", ("", "", "", "", "زحلة"), "Lebanon")]
    order = list(COUNTRIES)
    for number in range(places - len(named)):
        parts = [dice.choice(SYLLABLES) for _ in range(4)]
        latin, kana, arabic = ("".join(part[i] for part in parts) for i in range(3))
        named += [
            (f"City{number}", (latin.title(), latin.title(), latin.title(), kana, arabic), dice.choice(order))
        ]
    cities, wrong = [], {_triple("Bolivia", "capital", "Cochabamba")}
    for number, (name, labels, country) in enumerate(named):
        elevation, said = 1_001 + 7 * number, country
        stated = elevation
        if dice.random() < 0.1 and name not in ("Cochabamba", "Gaborone"):
            said = dice.choice([other for other in order if other != country])
            wrong.add(_triple(name, "country", said))
        if dice.random() < 0.1:
            stated = 10 * elevation + 1
            wrong.add(_triple(name, "elevation", str(stated)))
        counts = tuple((year, dice.randrange(10_000, 900_000)) for year in (2012, 2018))
        if name == "Gaborone":
            counts = ((2011, 231_592), (2018, 246_325))
        cities.append(
            City(
                name=name, labels=labels, country=country, said=said, elevation=elevation, stated=stated,
                founded=datetime.date(1000 + number % 900, 1 + number % 12, 1 + number % 28), counts=counts,
                history=HISTORY.format(name=labels[0]) if number % 7 == 1 else "", described=name in described,
            )
        )  # fmt: skip
    return Gazetteer(cities=cities, people=4, repeated=3, wrong=frozenset(wrong))
