"""Every resource there is: what is found at which address. The protocol is left to `resource_methods`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from backstory.errors import InputError
from backstory.mcp import conversation_resources, memory_resources
from backstory.mcp.face import Face
from backstory.mcp.resource import Resource
from backstory.mcp.uris import Address, write_address

RESOURCES: Final[Mapping[str, Resource]] = {
    each.place: each for each in (*conversation_resources.RESOURCES, *memory_resources.RESOURCES)
}


def with_resources(face: Face) -> Face:
    """The same face, with resources in place of tools; each has the beginning of its addresses for a name."""
    return replace(face, tools={each.tool.name: each.tool for each in RESOURCES.values()})


def resource_at(address: Address) -> tuple[Resource, Mapping[str, object]]:
    """The resource at an address and what it is asked; raises `InputError` when there is none."""
    found = RESOURCES.get(address.place)
    if found is None or (address.name and not found.variable):
        raise InputError(
            f"there is no resource at {write_address(address.place, address.name)[:100]}",
            hint=f"there are {', '.join(each.template for each in RESOURCES.values())}",
        )
    return found, {**address.asked, **({found.variable: address.name} if address.name else {})}
