"""Pictures of a trace as text: functions from a trace to a string, which the command line prints.

Nothing is imported here: `verdicts`, which every search needs, does without the pictures.
"""
