"""One passage per country from the facts that the package `countryinfo` ships (see data/corpus/README.md)."""

from collections.abc import Iterator, Mapping
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
    "United States": ("USA", "U.S.", "America"),
    "United Kingdom": ("UK", "U.K.", "Britain"),
    "United Arab Emirates": ("UAE",),
    "Democratic Republic of the Congo": ("DRC", "DR Congo"),
    "Republic of Macedonia": ("North Macedonia",),
    "Czech Republic": ("Czechia",),
    "Swaziland": ("Eswatini",),
    "Turkey": ("Türkiye",),
    "Netherlands": ("Holland",),
}
_MIN_NAME = 4  # shorter alternative spellings are codes, and "IN" or "IT" are words of a question


def country_passages() -> Iterator[Passage]:
    """Every country that the package knows, facts as `Name: value` lines, what is unknown left out."""
    facts = [country.info() for country in countryinfo.all_countries()]
    names = {info["ISO"]["alpha3"]: info["name"] for info in facts if info.get("ISO")} | _BORDERS
    english = Locale("en")
    for info in facts:
        yield Passage(
            title=info["name"], text="\n".join(_lines(info, names, english)), source=SOURCE, names=_names(info)
        )


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
    yield from _listed("Time zones", list(info.get("timezones") or ())[:4])


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


def _names(info: Mapping[str, Any]) -> tuple[str, ...]:
    others = [info.get("nativeName"), *_capitals(info), info.get("demonym"), *(info.get("altSpellings") or ())]
    kept = [name.strip() for name in others if name and len(name.strip()) >= _MIN_NAME]
    return tuple(dict.fromkeys([info["name"], *kept, *_ALIASES.get(info["name"], ())]))
