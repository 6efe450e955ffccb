"""The models that ship with kvproto."""
