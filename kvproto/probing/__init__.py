"""Probing an endpoint: the incident's two requests, judged by status and content (`kvproto replay --http`).

First a prompt that holds a secret of ours, then one that is longer than the prefill pool.  Nothing here knows models;
what is sent and looked for is made for the one probe, and no answer is kept or shown, as it may be somebody else's.
"""

from kvproto.probing.client import Endpoint
from kvproto.probing.probe import Plan, Probed, probe
from kvproto.probing.report import probe_lines, summary

__all__ = ["Endpoint", "Plan", "Probed", "probe", "probe_lines", "summary"]
