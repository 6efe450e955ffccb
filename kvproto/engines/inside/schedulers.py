"""A scheduler of the engine without model, processes and GPU: its own methods on its own queues and pools.

`Scheduler.__init__` starts a model worker and much else.  Here an instance is made without it and given what the
code of disaggregation reads; what it makes itself (`init_disaggregation`: both queues of a side, the metadata
rows, the connection manager) it makes itself.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist

from kvproto.engines.inside import seams

LONGEST = 4096
"""Tokens that a row of the request table has room for."""

NONE = [
    "draft_worker",
    "chunked_req",
    "last_batch",
    "prefill_delayer",
    "min_free_slots_delayer",
    "dllm_config",
    "mm_receiver",
    "_pending_chunked_abort_req",
    "hisparse_coordinator",
    "lora_drainer",
    "rust_server",
    "kv_checksum_computer",
    "tokenizer",
    "pad_input_ids_func",
    "sliding_window_size",
    "chunked_prefill_size",
    "truncation_align_size",
    "max_new_tokens_limit",
]
"""Parts that are there only with an option that is off."""

OFF = [
    "abort_on_priority_when_disabled",
    "decode_offload_manager",
    "hicache_storage",
    "mm_processor",
    "gracefully_exit",
    "priority_scheduling_preemption_threshold",
]
"""Options that are off under a name of their own."""

SILENT = [
    "metrics_reporter",
    "grammar_manager",
    "beam_coordinator",
    "load_inquirer",
    "pool_stats_observer",
    "scheduler_stage_metrics",
    "ngram_embedding_manager",
    "session_controller",
    "future_map",
    "metrics_collector",
    "load_publisher",
    "forward_stream",
    "schedule_stream",
    "policy",
]
"""Services that observe, or that serve options that are off."""

RANKS = {
    "world_size": 1,
    "world_rank": 0,
    "tp_rank": 0,
    "pp_rank": 0,
    "dp_rank": 0,
    "attn_tp_size": 1,
    "attn_tp_rank": 0,
    "attn_cp_rank": 0,
    "attn_dp_size": 1,
    "attn_dp_rank": 0,
    "attn_dcp_size": 1,
    "attn_dcp_rank": 0,
    "dcp_rank": 0,
    "dcp_enabled": False,
    "moe_ep_size": 1,
}
"""One rank of everything."""


class Silent:
    """A service that is not there: false, empty, and every attribute of it is another one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Silent()

    def __call__(self, *given: Any, **named: Any) -> int:
        """Nothing."""
        return 0

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def fitting(call: Any, **named: Any) -> Any:
    """Call with those arguments that this release knows."""
    known = inspect.signature(call.__init__ if inspect.isclass(call) else call).parameters
    return call(**{name: value for name, value in named.items() if name in known})


_assumed: set[str] = set()


def _missing(self: Any, name: str) -> Any:
    """Options that a release has added are off; their names are kept, so that a report can list them."""
    if name.startswith(("enable_", "is_", "_enable_")):
        _assumed.add(name)
        return False
    raise AttributeError(name)


def assumed() -> list[str]:
    """Options that were taken for off because nobody said anything about them."""
    return sorted(_assumed)


def side_class() -> type:
    """The engine's scheduler class, with options off unless said otherwise."""
    engine = importlib.import_module("sglang.srt.managers.scheduler")
    return type("Side", (engine.Scheduler,), {"__init__": lambda self: None, "__getattr__": _missing})


_group: Any = None


def group() -> Any:
    """A process group of one."""
    global _group
    if _group is None:
        store = getattr(dist, "HashStore")()  # noqa: B009 (not in torch's list of public names)
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        _group = dist.group.WORLD
    return _group


def build(mode: str, *, tokens: int, longest: int, page: int, slots: int) -> Any:
    """One side: `tokens` in its pool, prompts of at most `longest` tokens, `slots` requests at once."""
    engine = importlib.import_module("sglang.srt.managers.scheduler")
    side = side_class()()
    side.mode, side.device, side.page_size = mode, "cpu", page
    _options(side, mode, page, slots)
    _ranks(side)
    _pools(side, tokens, page, slots)
    for name in NONE:
        setattr(side, name, None)
    for name in OFF:
        setattr(side, name, False)
    for name in SILENT:
        setattr(side, name, Silent())
    side.max_total_num_tokens = tokens
    side.max_running_requests = slots
    side.max_req_input_len = longest
    side.max_req_len = LONGEST
    _rest(side, tokens)
    _client(side)
    side.running_batch = engine.ScheduleBatch(reqs=[], batch_is_full=False)
    seams.current.building = mode
    side.init_disaggregation()
    queue = side.disagg_prefill_bootstrap_queue if mode == "prefill" else side.disagg_decode_prealloc_queue
    side.kv_manager = queue.kv_manager
    return side


def use(side: Any) -> None:
    """Make the options of a side the process's own, as they are in a process of its own."""
    context = importlib.import_module("sglang.srt.runtime_context")
    context.get_context().set_server_args(side.server_args)


def _options(side: Any, mode: str, page: int, slots: int) -> None:
    """The command line of the side: Mooncake, no prefix tree, no overlap."""
    args = importlib.import_module("sglang.srt.server_args")
    side.server_args = args.ServerArgs(
        model_path="dummy",
        device="cpu",
        page_size=page,
        attention_backend="torch_native",
        disaggregation_mode=mode,
        disaggregation_transfer_backend="mooncake",
        disable_radix_cache=True,
        disable_overlap_schedule=True,
        pp_max_micro_batch_size=slots,
        num_reserved_decode_tokens=0,
    )
    use(side)


def _ranks(side: Any) -> None:
    context = importlib.import_module("sglang.srt.runtime_context")
    gloo = group()
    one = types.SimpleNamespace(cpu_group=gloo, device_group=gloo, world_size=1, rank_in_group=0, is_last_rank=True)
    groups = ("tp_group", "pp_group", "attn_tp_group", "attn_cp_group", "world_group")
    side.par = context.get_parallel()
    side.par._overrides.update(RANKS, **dict.fromkeys(groups, one))
    side.ps = types.SimpleNamespace(
        tp_rank=0, tp_size=1, pp_rank=0, pp_size=1, gpu_id=0, dp_rank=0, dp_size=1, attn_dp_rank=0
    )
    side.attn_tp_cpu_group = side.attn_cp_cpu_group = side.tp_cpu_group = gloo
    side.tp_size = 1


def _pools(side: Any, tokens: int, page: int, slots: int) -> None:
    """The engine's own pools, allocator and (empty) prefix cache, on a CPU."""
    memory = importlib.import_module("sglang.srt.mem_cache.memory_pool")
    paged = importlib.import_module("sglang.srt.mem_cache.allocator.paged")
    decode = importlib.import_module("sglang.srt.disaggregation.decode")
    _plain_kernel(paged)
    side.kvpool = memory.MHATokenToKVPool(tokens, page, torch.float32, 1, 2, 1, "cpu", False)
    if side.mode == "prefill":
        side.req_to_token_pool = memory.ReqToTokenPool(slots, LONGEST, "cpu", False)
    else:
        side.req_to_token_pool = decode.DecodeReqToTokenPool(slots, LONGEST, "cpu", False, slots)
    side.token_to_kv_pool_allocator = paged.PagedTokenToKVPoolAllocator(
        tokens, page, torch.float32, "cpu", side.kvpool, True
    )
    side.tree_cache = _cache(side, page)


def _plain_kernel(paged: Any) -> None:
    """Up to 0.5.21 the allocator always launches a Triton kernel; the same file has the plain version of it."""
    if hasattr(paged, "alloc_decode_naive"):
        return

    class Plain:
        def __getitem__(self, grid: Any) -> Any:
            return lambda before, after, last, free, out, rounded, page: paged.alloc_extend_naive(
                before, after, last, free, out, page, "cpu"
            )

    paged.alloc_extend_kernel = Plain()


def _cache(side: Any, page: int) -> Any:
    registry = importlib.import_module("sglang.srt.mem_cache.registry")
    parameters = importlib.import_module("sglang.srt.mem_cache.cache_init_params")
    params = parameters.CacheInitParams(True, side.req_to_token_pool, side.token_to_kv_pool_allocator, page)
    context = fitting(
        registry.TreeCacheBuildContext,
        server_args=side.server_args,
        params=params,
        is_hybrid_swa=False,
        is_hybrid_ssm=False,
        enable_hierarchical_cache=False,
        disable_radix_cache=True,
        effective_chunked_prefill_size=8192,
        tp_worker=None,
        model_config=None,
        tp_size=1,
        tp_rank=0,
        tp_group=group(),
    )
    return registry.create_tree_cache(context)


def _rest(side: Any, tokens: int) -> None:
    """Numbers and descriptions that are read on the way."""
    speculation = importlib.import_module("sglang.srt.speculative.spec_info")
    side.spec_algorithm = speculation.SpeculativeAlgorithm.NONE
    side.model_config = types.SimpleNamespace(
        hf_config=types.SimpleNamespace(architectures=["X"], model_type="llama"),
        hf_text_config=types.SimpleNamespace(),
        num_hidden_layers=1,
        num_key_value_heads=1,
        vocab_size=1 << 20,
        get_total_num_kv_heads=lambda: 1,
        is_encoder_decoder=False,
        is_multimodal=False,
        hf_eos_token_id=None,
        dtype=torch.float32,
    )
    runner = types.SimpleNamespace(
        effective_max_total_num_tokens=tokens,
        effective_logical_max_total_num_tokens=tokens,
        max_token_pool_size=tokens,
        kv_cache_dtype_str="float32",
        attn_backend=None,
        prefill_aware_swa=False,
    )
    side.tp_worker = types.SimpleNamespace(is_hybrid_swa=False, model_runner=runner)
    side.dp_attn_adapter = types.SimpleNamespace(maybe_prepare_mlp_sync_batch=lambda batch: batch)
    side.new_token_ratio_tracker = types.SimpleNamespace(current=0.5)
    side.max_prefill_tokens = 1 << 14
    side.max_prefill_bs = 0
    side.waiting_queue = []
    side.processed_tokens_counter = 0
    side.random_seed = 0
    side.return_health_check_ipcs = []
    side.kv_shard_widening = 1


def _client(side: Any) -> None:
    """What a side tells its client is kept: (request, reason), in order."""
    side.told = []
    side.output_streamer = types.SimpleNamespace(
        stream_output=lambda reqs, *given, **named: side.told.extend(
            (req.rid, req.finished_reason) for req in reqs if req.finished_reason is not None
        )
    )
    side.ipc_channels = types.SimpleNamespace(
        send_to_tokenizer=types.SimpleNamespace(
            send_output=lambda output, req=None: side.told.append((getattr(output, "rid", None), output))
        )
    )
    results = importlib.import_module("sglang.srt.managers.scheduler_components.batch_result_processor")
    modes = importlib.import_module("sglang.srt.disaggregation.utils").DisaggregationMode
    side.batch_result_processor = types.SimpleNamespace(
        snapshot_auxiliary_output_starts=lambda *given: None,
        move_logprobs_to_cpu=lambda **named: None,
        _maybe_update_reasoning_tokens=lambda *given, **named: None,
        disaggregation_mode=modes.DECODE,
        tree_cache=side.tree_cache,
        output_streamer=side.output_streamer,
    )
    side.finished = lambda batch: results.SchedulerBatchResultProcessor.process_batch_result_prebuilt(
        side.batch_result_processor, batch
    )
