"""The face that agents meet: tools over the actions, served by the Model Context Protocol."""
