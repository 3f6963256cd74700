"""The book's page of reference, from the package's docstrings.

``python crates/wearwell-py/reference.py > docs/src/simulate/python-reference.md``
"""

import inspect
import re
import textwrap

import wearwell

GROUPS = {
    "Runs": ["run", "compare", "Result", "Comparison"],
    "Traces": ["Trace"],
    "Policies": ["PlacementPolicy", "VictimScore", "HostBatch", "CopyBatch", "SegmentBatch", "DeviceShape"],
    "Disks": ["Device"],
    "Studies": ["sweep", "Study"],
    "What there is": ["chips", "policies"],
    "Errors": ["Error", "ArgumentError", "TraceError", "PolicyError", "DeviceError", "PowerOff", "RunError"],
}

#: Classes that users call.
MADE_BY_USERS = ("Trace", "Device")

HEAD = """\
# Python reference

The docstrings of the package, as `help(wearwell)` shows them. `python crates/wearwell-py/reference.py` prints this
page. [From Python](python.md) explains how the parts go together. A `Table` is an Arrow table: anything that takes
`__arrow_c_stream__` takes it.
"""

COLUMNS = 120


def signature(name, function):
    """As it is called: without ``self``, and with annotations as they are written."""
    shown, is_keyword = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            shown.append("*")
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        shown.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    returned = function.__annotations__.get("return", "None").replace("_native.", "")
    ending = "" if returned == "None" else f" -> {returned}"
    line = f"{name}({', '.join(shown)}){ending}"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in shown) + f"){ending}"
    return f"```python\n{line}\n```\n"


def markdown(docstring):
    """From the docstrings' reStructuredText."""
    blocks = []
    for block in inspect.cleandoc(docstring or "").split("\n\n"):
        if block.startswith(">>>"):
            blocks.append(f"```python\n{block}\n```\n")
        elif block.startswith(":"):
            fields = re.split(r"\n(?=:)", block)
            blocks.append("".join(filled(field_of(" ".join(one.split())), "- ", "  ") for one in fields))
        else:
            blocks.append(filled(code(" ".join(block.split()))))
    return "\n".join(blocks)


def field_of(text):
    """A line of a field list, as ``:raises Error: why``."""
    kind, name, rest = re.fullmatch(r":(\w+) ?(\w*): (.*)", text).groups()
    said = {"param": f"`{name}`", "raises": f"raises `{name}`", "returns": "returns"}[kind]
    return f"{said}: {code(rest)}"


def code(text):
    return re.sub(r"(?::\w+:`|``)(.*?)`+", r"`\1`", text)


def filled(text, first="", rest=""):
    lines = textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def members(of):
    """What users may call or look at: of the class, and of those of the package that it is made from."""
    found = {}
    for base in of.__mro__:
        if base.__module__.startswith("wearwell"):
            for name, member in vars(base).items():
                if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    found.setdefault(name, member)
    return found


def described(name):
    """A function, a class with its members, or an error."""
    what = getattr(wearwell, name)
    if inspect.isfunction(what):
        return f"### {name}\n\n{signature(name, what)}\n{markdown(what.__doc__)}"
    if issubclass(what, Exception):
        above = what.__base__.__name__
        return f"### {name}\n\n{filled(f'{what.__doc__} A subclass of `{above}`.')}"
    text = f"### {name}\n\n"
    if name in MADE_BY_USERS:
        text += signature(name, what.__init__) + "\n"
    text += markdown(what.__doc__)
    properties = {its: member for its, member in members(what).items() if isinstance(member, property)}
    text += "\n" * bool(properties) + "".join(property_line(*of) for of in properties.items())
    for its, member in members(what).items():
        if its not in properties:
            text += f"\n#### {name}.{its}\n\n{signature(its, member)}\n{markdown(member.__doc__)}"
    return text


def property_line(name, member):
    kind = member.fget.__annotations__["return"].replace("_native.", "")
    return filled(f"`{name}`, `{kind}`: {code(' '.join(member.__doc__.split()))}", "- ", "  ")


def page():
    missing = set(wearwell.__all__) - {"__version__"} ^ {name for names in GROUPS.values() for name in names}
    assert not missing, f"not in a group, or not in the package: {missing}"
    parts = [f"## {title}\n\n" + "\n".join(described(name) for name in names) for title, names in GROUPS.items()]
    return HEAD + "\n" + "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
