"""The model for other tools: from the IR, never from the lowering, so that what they find is independent of it."""
