"""One passage per country from the facts that the package `countryinfo` ships (see data/corpus/README.md)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import countryinfo
from babel import Locale

from orchestra_lib.toolkit.passage import Passage

SOURCE = "countryinfo 1.0.1, undated figures"
# Codes in the package that no registry knows, and what they stand for there.
_BORDERS = {"IT": "Italy", "KOS": "Kosovo", "XKX": "Kosovo"}
_LANGUAGES = {"cnr": "Montenegrin", "rs": "Serbian"}
_FUNDS = {"BOV", "CHE", "CHW", "CLF", "COU", "MXV", "USN", "USS", "UYI"}  # ISO 4217 units of account, no money
_ALIASES = {
    "United States": ("USA", "US", "America"),
    "United Kingdom": ("UK", "uk", "Britain"),
    "United Arab Emirates": ("UAE",),
    "Democratic Republic of the Congo": ("DRC", "DR Congo"),
    "Republic of Macedonia": ("North Macedonia",),
    "Czech Republic": ("Czechia",),
    "Swaziland": ("Eswatini",),
    "Turkey": ("Türkiye",),
    "Netherlands": ("Holland",),
}
_ZONES = 4
_ENGLISH_WORDS = {"Ísland", "Malé", "Mann"}  # once accents are gone
_MIN_NAME = 4  # shorter alternative spellings are codes, and "IN" or "IT" are words of a question


def country_passages() -> Iterator[Passage]:
    """Every country that the package knows, facts as `Name: value` lines, what is unknown left out."""
    facts = [country.info() for country in countryinfo.all_countries()]
    names = {info["ISO"]["alpha3"]: info["name"] for info in facts if info.get("ISO")} | _BORDERS
    english = Locale("en")
    peoples = _peoples(facts)
    for info in facts:
        text = "\n".join(_lines(info, names, english))
        yield Passage(title=info["name"], text=text, source=SOURCE, names=_names(info, peoples))


def _peoples(facts: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Each demonym and the country that it means; "French" means the largest of those whose people are French."""
    by_size = sorted(facts, key=lambda info: info.get("population") or 0)
    return {info["demonym"]: info["name"] for info in by_size if info.get("demonym")}


def _lines(info: Mapping[str, Any], names: Mapping[str, str], english: Locale) -> Iterator[str]:
    native = info.get("nativeName")
    also = f" ({native})" if native and native != info["name"] else ""
    places = dict.fromkeys(info.get(key) for key in ("intermediateregion", "subregion", "region"))
    where = ", ".join(place for place in places if place)
    yield f"{info['name']}{also} is a country or territory{f' in {where}' if where else ''}."
    yield from _listed("Capital", _capitals(info))
    if info.get("population"):
        yield f"Population: {info['population']:,}"
    if info.get("area"):
        yield f"Area: {info['area']:,} km²"
    yield from _listed(
        "Currency", [_currency(code, english) for code in (info.get("currencies") or ()) if code not in _FUNDS]
    )
    yield from _listed("Languages", [_language(code, english) for code in (info.get("languages") or ())])
    yield from _listed("Borders", [names[code] for code in (info.get("borders") or ())])
    if info.get("demonym"):
        yield f"Demonym: {info['demonym']}"
    yield from _listed("Calling code", [f"+{code.lstrip('+')}" for code in (info.get("callingCodes") or ()) if code])
    zones = list(info.get("timezones") or ())
    more = [f"and {len(zones) - _ZONES} more"] if len(zones) > _ZONES else []
    yield from _listed("Time zones", zones[:_ZONES] + more)


def _capitals(info: Mapping[str, Any]) -> list[str]:
    capital = info.get("capital") or []
    return capital if isinstance(capital, list) else [capital]


def _listed(label: str, values: list[str]) -> Iterator[str]:
    if values:
        yield f"{label}: {', '.join(dict.fromkeys(values))}"


def _currency(code: str, english: Locale) -> str:
    return f"{english.currencies[code]} ({code})" if code in english.currencies else code


def _language(code: str, english: Locale) -> str:
    return _LANGUAGES.get(code) or english.languages.get(code) or code


def _names(info: Mapping[str, Any], peoples: Mapping[str, str]) -> tuple[str, ...]:
    people = [name for name in [info.get("demonym")] if name and peoples[name] == info["name"]]
    others = [info.get("nativeName"), *_capitals(info), *people, *(info.get("altSpellings") or ())]
    names = [name.strip() for name in others if name]
    kept = [name for name in names if len(name) >= _MIN_NAME and name not in _ENGLISH_WORDS]
    return tuple(dict.fromkeys([info["name"], *kept, *_ALIASES.get(info["name"], ())]))
