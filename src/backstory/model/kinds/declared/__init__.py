"""The declarations: each file here is a type of memory, with its fields in `KIND`. Found by listing."""
