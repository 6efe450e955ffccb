"""Paged attention as a Triton kernel that checks the tag of a page as it reads the page.

Importing this module imports Triton.  On a CPU the kernel runs in Triton's interpreter only, and only if
TRITON_INTERPRET=1 was in the environment before Triton was imported for the first time.
"""

# mypy: disable-error-code="import-untyped,import-not-found,untyped-decorator,no-untyped-def"
# Triton reads the functions in here as its own language.

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def paged_attention(
    asked_at,
    keys_at,
    values_at,
    tags_at,
    table_at,
    expected_at,
    lengths_at,
    places_at,
    out_at,
    flags_at,
    pages,
    width,
    queries,
    scale,
    slope,
    heads: tl.constexpr,
    dim: tl.constexpr,
    page_size: tl.constexpr,
    check: tl.constexpr,
    block_q: tl.constexpr,
    block_t: tl.constexpr,
    block_d: tl.constexpr,
):
    """One block of queries of one head of one request, over all tokens of its pages (online softmax).

    The request's flag becomes 1 if a page of its table does not carry the expected tag, or is no page of the pool.
    """
    request = tl.program_id(0)
    head = tl.program_id(1)
    q_at = tl.program_id(2) * block_q + tl.arange(0, block_q)
    d_at = tl.arange(0, block_d)
    in_q = q_at < queries
    in_d = d_at < dim
    q_row = (request * queries + q_at).to(tl.int64) * heads + head
    q_cell = q_row[:, None] * dim + d_at[None, :]
    q_mask = in_q[:, None] & in_d[None, :]
    q = tl.load(asked_at + q_cell, mask=q_mask, other=0.0)
    place = tl.load(places_at + request * queries + q_at, mask=in_q, other=0)
    length = tl.load(lengths_at + request)

    most = tl.full((block_q,), -float("inf"), tl.float32)
    total = tl.zeros((block_q,), tl.float32)
    read = tl.zeros((block_q, block_d), tl.float32)
    flag = tl.zeros((block_t,), tl.int32)
    for start in range(0, length, block_t):
        token = start + tl.arange(0, block_t)
        inside = token < length
        position = token // page_size
        entry = request * width + position
        page = tl.load(table_at + entry, mask=inside, other=0).to(tl.int64)
        named = inside & (page >= 0) & (page < pages)
        wrong = inside & ~named
        if check:
            wanted = tl.load(expected_at + entry, mask=named, other=0)
            before = tl.load(tags_at + page, mask=named, other=0, volatile=True)
            # No load of the page is moved in front of that of its tag.
            tl.debug_barrier()
        row = (page * page_size + token % page_size) * heads + head
        cell = row[:, None] * dim + d_at[None, :]
        # What is loaded does not depend on the tag: the compiler may load a tag twice, and see two.
        mask = named[:, None] & in_d[None, :]
        k = tl.load(keys_at + cell, mask=mask, other=0.0)
        v = tl.load(values_at + cell, mask=mask, other=0.0)
        if check:
            # The tag once more: a write that began in between has taken it away before it touched the page.
            tl.debug_barrier()
            after = tl.load(tags_at + page, mask=named, other=0, volatile=True)
            wrong = wrong | (named & ((before != wanted) | (after != wanted)))
        flag = flag | wrong.to(tl.int32)
        far = tl.abs(position[None, :] - place[:, None]).to(tl.float32)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale - slope * far
        scores = tl.where(named[None, :], scores, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        # Nothing usable so far: any finite number keeps the exponentials at zero.
        base = tl.where(higher == -float("inf"), 0.0, higher)
        weights = tl.exp(scores - base[:, None])
        fade = tl.exp(most - base)
        total = total * fade + tl.sum(weights, 1)
        read = read * fade[:, None] + tl.dot(weights.to(v.dtype), v, input_precision="ieee")
        most = higher
    broken = tl.max(flag, 0)
    out = read / tl.where(total == 0.0, 1.0, total)[:, None]
    out = tl.where(broken > 0, 0.0, out)
    tl.store(out_at + q_cell, out.to(out_at.dtype.element_ty), mask=q_mask)
    if broken > 0:
        tl.store(flags_at + request, 1)
