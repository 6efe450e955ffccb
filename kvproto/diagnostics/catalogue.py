"""Every error code with its explanation: what `kvproto explain CODE` prints.

KV0nn: usage and files.  KV1nn: the text of a model.  KV2nn: a model goes wrong while it runs.  KV3nn: what
is odd about a model that ran well.  Codes are stable: one that is retired is not used again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One code: a short title, and a few sentences on meaning, reason and cure."""

    title: str
    text: str


_USAGE: dict[str, Entry] = {
    "KV001": Entry(
        "unknown model",
        "The target names no shipped model and no file. A target is the name of a shipped model\n"
        "(`sglang`), a file (`model.py`, or `model.py:object` where it holds several models), or\n"
        "`package.module:object`; each may end in a preset (`sglang@0.5.19`). `kvproto list` shows the\n"
        "shipped models.",
    ),
    "KV002": Entry(
        "unknown preset",
        "The model has no preset of that name. A preset is a named choice of parameters, such as a\n"
        "release of an engine; it stands after the @ of a target, and `base=` of another preset may name\n"
        "it too. `kvproto list` shows the presets of every model.",
    ),
    "KV003": Entry(
        "unknown scope",
        "The model has no scope of that name. A scope is a named choice of sizes: how many requests,\n"
        "pages and slots the searched world has. The message lists the scopes there are. For sizes that\n"
        "no scope has, set them one by one: --set Req=3 --set Page=4.",
    ),
    "KV004": Entry(
        "unknown property",
        "The model has no property of that name. Properties are functions decorated with @invariant,\n"
        "assertions in actions (named ACTION.assert1, ACTION.assert2, ...), and `no_deadlock` where the\n"
        "model asks for it. `kvproto list` shows them with their claims.",
    ),
    "KV005": Entry(
        "unknown parameter",
        "A preset, a scope or --set gives a value to something that is neither a parameter of the model\n"
        "nor a sort. Parameters are declared in the model's Params class; sorts are those that its state,\n"
        "actions and modules use. A misspelt name would silently leave the parameter as it was, so it is\n"
        "refused.",
    ),
    "KV006": Entry(
        "value not allowed",
        "A parameter or the size of a sort is given a value that its declaration does not allow. A flag\n"
        "takes on or off (also true, false, yes, no, 1, 0), a number takes an integer between its bounds,\n"
        "a choice takes the name of a member, and a sort takes a size from 1 to 4096. Example: --set\n"
        "deferred_release=on --set Req=3. Likewise a memory limit must leave room for a search, and the\n"
        "folder of --spill must take files.",
    ),
    "KV007": Entry(
        "model file raised an exception",
        "The model file is valid Python, but importing it raised an exception, which the message quotes.\n"
        "Run the file by itself (`python model.py`) to see the whole traceback. A missing import and a\n"
        "misspelt name in a class body are the usual causes.",
    ),
    "KV008": Entry(
        "no model in the file",
        "The file was imported, but it has no variable that holds a Model, or several and none of them is\n"
        "called `model`. End the file with a declaration such as\n"
        "    model = Model('mine', 'what it is', state=State, parts=[__name__],\n"
        "                  scopes=[Scope('S', '2 requests', Req=2)])\n"
        "or name the object that is meant: `kvproto check model.py:mine`.",
    ),
    "KV009": Entry(
        "syntax error in a model file",
        "The file is no valid Python, so there is nothing to read. The caret stands where Python noticed\n"
        "the mistake; an unclosed bracket is often a line or more above.",
    ),
    "KV010": Entry(
        "trace cannot be read",
        "The trace file does not exist, is a directory, is too large, or may not be read. The message\n"
        "says which. `kvproto check` prints the name of the trace that it writes.",
    ),
    "KV011": Entry(
        "trace is not JSON",
        "The trace file is no complete JSON text: it was cut off, or changed by hand. A trace that cannot\n"
        "be read whole is never shown in part, since the missing part could be the one that matters.\n"
        "Write it again with `kvproto check`.",
    ),
    "KV012": Entry(
        "trace field is wrong",
        "The trace is JSON, but one field is missing, of the wrong kind, or contradicts another one. The\n"
        "message gives the place as a JSON pointer: /steps/3/args is the `args` of the fourth step. Write\n"
        "the trace again with `kvproto check` instead of editing it.",
    ),
    "KV013": Entry(
        "trace does not fit the model",
        "The trace is well formed, but the model that it names cannot do its steps: an action, a\n"
        "parameter or a variable is unknown, a step is not enabled, or the state after it is another one.\n"
        "The model has changed since the trace was recorded, or the trace was edited. Record it again\n"
        "with this version of the model.",
    ),
    "KV014": Entry(
        "trace cannot be written",
        "The directory for traces does not exist and cannot be made, or may not be written. The verdict\n"
        "of the search does not depend on it. Name another directory, or free space on the disk.",
    ),
    "KV015": Entry(
        "option not available",
        "The option exists, but what would run here cannot do what it asks for: fingerprints, states on\n"
        "disk and checkpoints are part of the C engine, and this search runs in another tier, by choice or\n"
        "because no C compiler was found. It is refused, because a result without it would not be what was\n"
        "asked for. Leave the option out, or let the C engine run.",
    ),
    "KV016": Entry(
        "sort without elements",
        "A scope or --set gives a sort the size 0. `all(... for r in Req)` is true of an empty sort\n"
        "whatever stands inside, so every claim would hold for the wrong reason. Give the sort at least\n"
        "one element.",
    ),
    "KV017": Entry(
        "nothing to explain by that name",
        "`kvproto explain` takes an error code (KV112) or the name of a property (no_free_under_write),\n"
        "and this is neither. Codes stand at the beginning of every error message; `kvproto list` shows\n"
        "the properties of every model.",
    ),
    "KV018": Entry(
        "too many action instances",
        "Every action is unrolled over all choices of its parameters, and in this scope that gives more\n"
        "instances than an engine can hold. An action with three parameters over sorts of 40 elements\n"
        "alone has 64000. Use a smaller scope, or move a parameter into the action: choose the element\n"
        "with next(...).",
    ),
    "KV019": Entry(
        "engine cannot be loaded",
        "The engine that was asked for cannot run here: there is no C compiler, the cache directory\n"
        "cannot be written, or the machine is not supported. The message says which. Let kvproto choose\n"
        "the engine itself; all engines give the same verdicts, and differ in speed only.",
    ),
    "KV020": Entry(
        "no reference implementation",
        "Replaying runs the steps of a trace through a reference implementation that moves real tensors.\n"
        "This model has none, or the array library that it needs is not installed. `kvproto show` prints\n"
        "the trace of any model; for the shipped engine models install numpy.",
    ),
    "KV021": Entry(
        "result cannot be written",
        "The file for the results cannot be written: its directory does not exist, or the disk is full or\n"
        "protected. Name another file.",
    ),
    "KV022": Entry(
        "command line not understood",
        "An option or argument of the command line is unknown, missing, or has a value that it does not\n"
        "take. `kvproto --help` lists the commands, `kvproto check --help` the options of one of them.",
    ),
    "KV023": Entry(
        "project settings are wrong",
        "The [tool.kvproto] table of pyproject.toml cannot be read, or holds something else than\n"
        "`targets`, the list of models that `kvproto check` searches when none is named, and long options\n"
        "of `kvproto check` by their names. Profiles are tables of the same kind, chosen with --profile.\n"
        "What stands on the command line counts more. Example:\n"
        "    [tool.kvproto]\n"
        '    targets = ["model.py", "sglang@patched"]\n'
        "    [tool.kvproto.profile.ci]\n"
        "    time-limit = 60\n"
        "    set = { drains = true }",
    ),
    "KV024": Entry(
        "checkpoint cannot be written",
        "The journal that an interrupted search could go on from cannot be written: the place is no file, or\n"
        "holds something else than a checkpoint, another search is writing it, the disk is full or protected.\n"
        "A search that is under way goes on without, and says so with its result; what was in the journal\n"
        "before stays good. Make room, or name another file with --checkpoint.",
    ),
    "KV025": Entry(
        "checkpoint does not fit",
        "A search can only go on from the journal of the same search: same model text, scope, parameters,\n"
        "properties and reductions. The file given to --resume belongs to another one, is no journal, or is\n"
        "damaged before its first complete record. Workers, limits and trace folders may differ.",
    ),
    "KV026": Entry(
        "options that do not fit together",
        "Each of the options makes sense by itself, but one asks for what the other excludes, or says nothing\n"
        "without another one. The message names them. None is ignored silently, because the result would\n"
        "not be what was asked for.",
    ),
    "KV027": Entry(
        "the model of a trace is not known",
        "What would have been under another switch, or with another value, is found out by taking the\n"
        "trace's steps in its model. A trace names its model, and kvproto knows those it ships. A model of\n"
        "your own is found where the trace says, from the folder in which it was recorded. From elsewhere\n"
        "say where it is: kvproto explain TRACE --model model.py. To look at a trace no model is needed:\n"
        "kvproto show TRACE, kvproto view TRACE.",
    ),
    "KV028": Entry(
        "the trace is not of this model",
        "The model has changed since the trace was recorded, or the trace was edited: the digest in the\n"
        "file is not that of the model under the same parameters, or the steps cannot be taken in it, or\n"
        "they break no claim there. What would have been in another model says nothing about the trace.\n"
        "Record the trace again with kvproto check, with the preset, scope and switches that it names.",
    ),
    "KV037": Entry(
        "no terminal to draw on",
        "`kvproto show TRACE --tui` steps through a trace with keys, which takes a terminal. Standard input,\n"
        "output or error goes to a file or a pipe. `kvproto show TRACE` prints the same as text, and\n"
        "--step N shows one step in full.",
    ),
    "KV038": Entry(
        "package of an extra is not installed",
        "Some commands need a package that most users do without. It comes with an extra of kvproto, which\n"
        "the message names: pip install 'kvproto[tui]'.",
    ),
    "KV029": Entry(
        "nothing is violated in the trace",
        "The trace is a witness: it shows a run to something that is supposed to be possible. What would\n"
        "have prevented a violation can be said of counterexamples only. kvproto show TRACE and\n"
        "kvproto view TRACE show any trace.",
    ),
    "KV031": Entry(
        "model cannot be exported",
        "`kvproto export` writes a model for another tool, and that tool's language has no form for\n"
        "something in it: numbers of more than 32 bits or thousands of action instances in Promela, for\n"
        "example. The message names the line. A smaller scope, or the other format, often helps.",
    ),
    "KV032": Entry(
        "benchmark cannot go on",
        "A command that `kvproto bench` measures failed: a search of kvproto, SPIN, or the C compiler that\n"
        "makes SPIN's program. The message shows what it printed. `kvproto bench --no-spin` measures\n"
        "without SPIN; `--size S` is over in seconds.",
    ),
    "KV047": Entry(
        "an expectation that cannot be",
        "A preset says with expect={...} what `kvproto suite` has to find in it: names of properties that\n"
        "break, each with the number of steps of the shortest run, or None for a run without end. The name\n"
        "must be one of the model's properties. An empty {} says that everything holds.",
    ),
    "KV048": Entry(
        "no entry is wanted",
        "`kvproto suite -k EXPR` takes entries whose words fit: model, preset, `bug` or `fixed`, engine,\n"
        "mechanism, properties, report. An expression is made of such words, and, or, not and brackets.\n"
        "It could not be read, or fits nothing. `kvproto suite --list` shows the entries.",
    ),
    "KV049": Entry(
        "no new model there",
        "`kvproto new NAME` writes NAME.py and files beside it. NAME becomes a Python module, so it is made\n"
        "of small letters, digits and _, begins with a letter and is no module of Python's own. Files that\n"
        "exist are never overwritten.",
    ),
    "KV052": Entry(
        "transport that is not there",
        "`kvproto replay --transport` moves pages by a real engine, and something that it needs is not\n"
        "installed. mooncake: pip install 'kvproto[mooncake]' (Linux, x86-64), and the libraries that the\n"
        "wheel leaves to the system: apt-get install libibverbs1 ibverbs-providers. nixl: pip install\n"
        "--no-deps nixl-cu12==1.5.1 nixl==1.5.1. The transport `scripted` is the default and needs nothing.",
    ),
    "KV053": Entry(
        "transfer engine does not do what was asked",
        "A real engine (`kvproto replay --transport`) ended, did not answer for a minute, or said something\n"
        "else of a write than the transport had brought about. Nothing is known of the trace then. A machine\n"
        "under heavy load may be the cause; `--transport scripted` replays without an engine.",
    ),
    "KV041": Entry(
        "no switches to choose from",
        "`kvproto mitigations` asks which sets of switches suffice, and there is none to choose from. A\n"
        "model says which of its flags somebody can turn on: flag(False, '...', kind='mitigation').\n"
        "By default those are tried that are off in the target (what has to be added?), with --drop those\n"
        "that are on (which are needed?), with --from PRESET those that are on in the target and off in the\n"
        "preset. --switches a,b names any flags instead.",
    ),
    "KV054": Entry(
        "engine that is not here",
        "`kvproto replay --impl sglang==VERSION` runs a release's own code, which is kept in the user's\n"
        "cache (~/.cache/kvproto/engines, or where KVPROTO_ENGINES says) and is fetched only when asked for:\n"
        "kvproto engine fetch sglang==0.5.19. That gets the wheel without its dependencies (about 200 MB\n"
        "unpacked), and once for all releases the packages that its code imports (1.2 GB, most of it a CPU\n"
        "build of torch). The message says what is missing, or what pip said when it could not be fetched.",
    ),
    "KV055": Entry(
        "engine of another shape",
        "The harness calls functions of the engine by name and gives its scheduler what the code of\n"
        "disaggregation reads. In this release something of that has another name or other parameters; the\n"
        "message says what, and where it was met. docs/engines.md lists the releases that are tested. A\n"
        "newer one needs a change of the harness (kvproto/engines/inside).",
    ),
    "KV056": Entry(
        "engine has ended or raised an exception",
        "The process that runs the engine's code ended, did not answer for two minutes, or its code raised\n"
        "an exception in a step. An exception in a step that the model allows is a finding about the engine.\n"
        "A process that ends by a signal usually had too little memory: it takes about 600 MB.",
    ),
    "KV057": Entry(
        "trace cannot be driven on an engine",
        "The harness has one rank on either side, a scripted transfer engine, and the engine's default\n"
        "options. Traces with several ranks, lost messages, crashes, retraction, chunked prompts, or\n"
        "switches that no release has on need the reference implementation: kvproto replay TRACE.\n"
        "docs/engines.md has the list with reasons.",
    ),
    "KV058": Entry(
        "endpoint that cannot be reached",
        "The probe (`kvproto replay --http URL`) has nobody to send its prompts to: the address is none, or\n"
        "nothing listens there, or the encrypted connection does not come about. Nothing was sent. The\n"
        "address has the form http://HOST:PORT, and may end in /v1 or in the path of completions itself.",
    ),
    "KV059": Entry(
        "endpoint that refuses an ordinary prompt",
        "Before the prompt above the pool the probe sends ordinary ones, and the endpoint refused one of\n"
        "them. Then a refusal of the long one would say nothing. Usual causes: another path, a model name\n"
        "that is not served (--model), a missing key (environment variable KVPROTO_API_KEY), or a --pool\n"
        "in other units than tokens, so that the canary does not fit.",
    ),
    "KV060": Entry(
        "prompt that would not exceed the pool",
        "The probe needs a prompt that is longer than the prefill pool, because only such a prompt takes\n"
        "the way on which the incident happened. Read the size of the pool in tokens from the engine's\n"
        "start-up log (max_total_num_tokens of the prefill nodes) and give it as --pool; --prompt-tokens\n"
        "sets the length of the prompt, which has to lie between the pool and the context length.",
    ),
    "KV061": Entry(
        "code that does not repeat itself",
        "An exploration (`kvproto explore`) reaches a place by beginning again and taking the same steps.\n"
        "Here the same steps led somewhere else, or one of them was refused the second time. Something in\n"
        "the code, or in what drives it, depends on time, on chance or on what was done before.",
    ),
    "KV034": Entry(
        "nothing of that can be written in this form",
        "`kvproto export` writes a trace for tools that show runs (mermaid, itf, shiviz, perfetto, markdown,\n"
        "svg, html) or for a test bench (faults), and a model for other checkers (promela, tla) or as the\n"
        "graph of its states (dot, svg).\n"
        "What is given is the other kind. A trace is a file that kvproto check wrote; anything else names\n"
        "a model. `kvproto export TRACE --to dot` is the graph of the trace's model with the run in it.",
    ),
    "KV035": Entry(
        "a program is not installed",
        "A graph is laid out by Graphviz's `dot`, which is a program of its own: apt-get install graphviz.\n"
        "The graph as text needs no layout: kvproto export TARGET --to dot.",
    ),
    "KV033": Entry(
        "nothing cites that",
        "`kvproto list MODEL --cites WORD` shows the actions and parameters that stand for a piece of the\n"
        "real engine's code. WORD is any part of a file or name that they cite, in capitals or not. Without\n"
        "a word the whole table is shown; a preset that is a release leaves the citations of that release.",
    ),
    "KV050": Entry(
        "no tensors on that device",
        "`kvproto replay --backend torch` and `--device` need PyTorch: pip install 'kvproto[replay]'. A CUDA\n"
        "device also needs a build of PyTorch for CUDA and a driver. NumPy is the default and needs neither.\n"
        "`--transport streams` copies such tensors, in streams of the card where there is one; if the driver\n"
        "refuses to hold a copy, `--transport scripted` holds it in the process.",
    ),
    "KV051": Entry(
        "the paged attention kernel cannot run here",
        "The kernel is written in Triton, and runs on a CUDA device. Builds of PyTorch for CUDA bring Triton;\n"
        "elsewhere it is a package of its own: pip install triton. On a CPU it runs in Triton's interpreter,\n"
        "with TRITON_INTERPRET=1 in the environment. The plain path computes the same without Triton.",
    ),
}

_LANGUAGE: dict[str, Entry] = {
    "KV101": Entry(
        "statement without meaning",
        "A statement is outside the language, or its value is computed and dropped. A line such as\n"
        "`s.phase[r] == Phase.NEW` does nothing at all; a guard or an assignment was probably meant.\n"
        "Write `require(s.phase[r] == Phase.NEW)` for a guard and `=` for a store.",
    ),
    "KV102": Entry(
        "expression outside the language",
        "This kind of expression has no meaning over finite values. Numbers have + - * // %, sets have |\n"
        "& -, and conditions have and, or, not, comparisons, any and all. docs/language.md lists every\n"
        "expression of the language.",
    ),
    "KV103": Entry(
        "while loop",
        "A `while` loop runs as long as the state says, so a search could not know that a step ever ends.\n"
        "Loop over a sort or a range with `for` and put the condition inside:\n"
        "    for p in Page:\n"
        "        if s.owner[p] == r:\n"
        "            s.owner[p] = None",
    ),
    "KV104": Entry(
        "break or continue",
        "Loops are unrolled and always run over their whole domain, so there is nothing to leave. Instead\n"
        "of `break`, choose the element first: `p = next((p for p in Page if s.owner[p] is None), None)`.\n"
        "Instead of `continue`, put the rest of the body under `if`.",
    ),
    "KV105": Entry(
        "unknown name",
        "The name is no local, no parameter, and no global of the module in which the function stands.\n"
        "Import it, define it, or correct the spelling. A local that exists only on some ways is KV125.",
    ),
    "KV106": Entry(
        "unknown field or member",
        "The record has no such field, the enumeration no such member, the Params class no such\n"
        "parameter, or the module no such name. In plain Python the same line would raise AttributeError.\n"
        "Fields are the annotated names of a Record class.",
    ),
    "KV107": Entry(
        "types do not agree",
        "A value of one type stands where another type is needed. Types are checked before the search,\n"
        "for every way through every action, so that each variable only ever holds values of its own\n"
        "type. A request is not a page even if both are number 0 in plain Python; None fits only an\n"
        "Opt(...); a number fits a sort only where it is a constant index.",
    ),
    "KV108": Entry(
        "order of members",
        "Members of an enumeration, booleans and optionals are compared with < or >. They have no order\n"
        "that the model declares: the order in which members happen to be written is no property of the\n"
        "protocol. Write what is meant: `s.phase[r] in (Phase.DONE, Phase.ABORTED)`.",
    ),
    "KV109": Entry(
        "not a number",
        "Something that is no number stands in arithmetic. Elements of a sort are names: nothing in a\n"
        "model may depend on which of two requests has the larger number, and searches use that. Count\n"
        "with sum(...). If the order of a sort is part of the protocol, say so with int(r).",
    ),
    "KV110": Entry(
        "domain of a loop is not fixed",
        "Loops, any, all, sum, next and set comprehensions are unrolled, so what they range over must be\n"
        "known from the scope alone: a sort, an enumeration, a range of constants or parameters, a tuple\n"
        "of constants; or a set of the state, whose members are tested one by one. Instead of `for k in\n"
        "range(s.n)` write `for k in range(LIMIT)` with `if k < s.n` inside.",
    ),
    "KV111": Entry(
        "call outside the language",
        "A model calls helper functions of its own, require, and any, all, sum, min, max, len, next, int,\n"
        "set and range; sets of the state have add, discard and clear as statements. Nothing else can be\n"
        "called, or not with these arguments. Write a helper with `def` at module level; it is read like\n"
        "the rest of the model.",
    ),
    "KV112": Entry(
        "recursion",
        "A helper calls itself, directly or through another helper. Helpers are inlined where they are\n"
        "called, so recursion would have no end. Write a loop over a finite sort. To follow a chain of\n"
        "pointers, loop as often as the sort has elements:\n"
        "    for _ in Page:\n"
        "        if s.next[p] is not None: ...",
    ),
    "KV113": Entry(
        "helper with effects inside an expression",
        "A helper that stores, loops, requires or asserts is called inside an expression. Expressions\n"
        "have no effects, so that the order of evaluation cannot matter. Call it in a line of its own (`x\n"
        "= helper(s, r)`), or compute its value with any, all, sum or next.",
    ),
    "KV114": Entry(
        "return not possible here",
        "A `return` stands inside a loop, or gives a value that nobody takes. Loops run over their whole\n"
        "domain, and actions change the state instead of returning something. Choose the element before\n"
        "the loop: `p = next((p for p in Page if ...), None)`. A helper whose value is needed is called\n"
        "as `x = helper(...)`.",
    ),
    "KV115": Entry(
        "global or nonlocal",
        "A function declares a global or nonlocal variable in order to assign it. All that changes in a\n"
        "model belongs to its state; a hidden variable would not be part of the states that a search\n"
        "tells apart. Make it a field of the state.",
    ),
    "KV116": Entry(
        "statement outside the language",
        "try, with, raise, del, imports, lambdas, and functions or classes inside functions have no\n"
        "finite meaning in a model. An action is one atomic step: guards, then stores. Use `require` for\n"
        "guards and `assert` for claims, import at the top of the module, and write helpers at module\n"
        "level.",
    ),
    "KV117": Entry(
        "bad type",
        "An annotation is no type of the language, cannot be evaluated, or has too many values. Types are\n"
        "Bool, Int(lo, hi), a Sort, an Enum, Opt(T), Set(T), Array(index, T) and Record classes; T in Opt\n"
        "and Set is a single value. A set has at most 62 possible elements, an array or a parameter at\n"
        "most 4096. Fields have no defaults (they would be ignored: write an @init function), and no\n"
        "record contains itself. Example: `owner: Array(Page, Opt(Req))`.",
    ),
    "KV118": Entry(
        "parameter without type",
        "A parameter of an action or init function has no annotation. An action can happen for every\n"
        "choice of its parameters, so their types must be known and finite. Write `def land(s, r: Req, p:\n"
        "Page):`. The first parameter is the state and needs none; helpers need none either.",
    ),
    "KV119": Entry(
        "parameters outside the language",
        "Functions of a model take plain parameters: no defaults, no stars, no keyword-only ones. Actions\n"
        "and init functions take the state first; properties take the state only. A property about every\n"
        "request quantifies inside: `return all(... for r in Req)`.",
    ),
    "KV121": Entry(
        "not an array",
        "Something is indexed that is no array, no queue and no tuple of constants with enough entries.\n"
        "Sets are asked with `in`, numbers have no parts to pick. Declare the field as\n"
        "Array(index, element).",
    ),
    "KV122": Entry(
        "no fields here",
        "An attribute is taken of something that is no record, enumeration, parameter object or module.\n"
        "`s.req.phase` for an array of records wants an index first: `s.req[r].phase`.",
    ),
    "KV123": Entry(
        "parameter or loop variable assigned",
        "Parameters of actions and loop variables stand for one fixed element during a step, and are\n"
        "never assigned. Take a new name for the new value.",
    ),
    "KV124": Entry(
        "target not possible",
        "An assignment or a loop has several targets, a tuple as target, or none. Tuples are no values of\n"
        "a model, and which of several targets is stored first could matter. Write one assignment a line;\n"
        "to exchange two values, keep one in a local first.",
    ),
    "KV125": Entry(
        "name not usable here",
        "The name has no one meaning on every way to this line: it is assigned on some ways only, or\n"
        "later, or stands for different parts of the state on different ways or in different rounds of a\n"
        "loop; or it was the variable of a loop that has ended. Assign it before the branches, or take a\n"
        "name of its own for each meaning. Instead of a name for one of two records, choose the index: `i\n"
        "= 0 if c else 1`, then `s.req[i]`.",
    ),
    "KV127": Entry(
        "value missing",
        "A helper's value is used, or a function is a property, but on some way through it there is no\n"
        "`return` with a value. Python would give None there. End it with `return ...`.",
    ),
    "KV128": Entry(
        "misplaced require",
        "`require(condition)` is a guard: a statement of its own with one condition, which decides\n"
        "whether the action happens at all. It has no value, and cannot be part of an expression.",
    ),
    "KV129": Entry(
        "two definitions of one name",
        "Two actions or two properties of a model have the same name, or one file defines a function\n"
        "twice. Traces, options and pictures name them, so names are unique within a model, whichever\n"
        "modules they come from; and of two functions of one name in a file Python keeps only the second,\n"
        "so that the first would vanish from the model. Rename one of them.",
    ),
    "KV130": Entry(
        "constant outside its type",
        "A constant stands where it can never fit: a store of 5 into Int(0, 3), or page 7 of 4 pages. In\n"
        "this scope the line would fail whenever it is reached. Use a value inside the type, widen the\n"
        "type, or derive the number from the scope: len(Page) - 1.",
    ),
    "KV131": Entry(
        "pattern outside the language",
        "A `case` compares the subject with constants: members, numbers, True, False, None, alternatives\n"
        "with `|`, and `_` for the rest; it may have an `if`. Patterns that capture names or take values\n"
        "apart are refused: `case DONE:` would match everything and call it DONE. Write `case\n"
        "Phase.DONE:`.",
    ),
    "KV132": Entry(
        "text or fraction",
        "Strings, formatted strings, floats and bytes are no values of a model, which has finitely many\n"
        "values only. Use an Enum for names and Int(lo, hi) for quantities; divide with //.",
    ),
    "KV133": Entry(
        "comparison with None that is fixed",
        "A value that is never None is compared with None, so the test has the same answer in every\n"
        "state, and the line does not say what it seems to. Make the variable Opt(...), or drop the test.",
    ),
    "KV134": Entry(
        "list as a value",
        "Lists and generators are no values: they have no bound. A generator may stand inside any, all,\n"
        "sum, min, max, next and set. Use a set for membership, an Array for one value an element, a\n"
        "tuple of constants to loop over.",
    ),
    "KV135": Entry(
        "number without bounds",
        "A computed number is to be optional, or an element of a set, and nothing bounds it. Every\n"
        "variable of the state has finitely many values. Store the number in a variable of type Int(lo,\n"
        "hi) first, or give the local its type: `n: Int(0, 3) = ...`.",
    ),
    "KV136": Entry(
        "name of an enclosing function",
        "The function uses a variable of a function around it. Models are read from module level, where\n"
        "every name has one meaning; a closure has as many as it was made. Move the function to the top\n"
        "level and pass the value as an argument.",
    ),
    "KV140": Entry(
        "size of a sort not known yet",
        "len(Sort), or a loop over a sort, is evaluated while the module is imported. The size belongs to\n"
        "a scope, and one model is read in several scopes. As a bound write Int(0, Page), which means the\n"
        "size; elsewhere use len(Page) inside actions, helpers and properties.",
    ),
    "KV141": Entry(
        "sort without size",
        "Neither the sort itself, nor the chosen scope, nor --set says how many elements the sort has.\n"
        "Write Sort('Page', size=2), or put Page=2 into a Scope, or give --set Page=2.",
    ),
    "KV142": Entry(
        "no source text",
        "The function cannot be read, because there is no `def` of it in a file: it is built in, a\n"
        "lambda, made by another function, wrapped by a decorator, or typed at a prompt. Models are read\n"
        "from their source. Write it with `def` at the top level of a .py file.",
    ),
    "KV143": Entry(
        "record or array used as a value",
        "A whole record or array stands where a single value is needed, for example in a comparison.\n"
        "Values are numbers, booleans, members, elements, optionals and sets. Name the field that is\n"
        "meant. A record or an array can be copied whole by an assignment: `s.req[r] = s.req[q]`.",
    ),
    "KV144": Entry(
        "not a condition",
        "A number, an element, a member or an optional is used as a condition. In Python 0, None and the\n"
        "empty set are false; element 0 of a sort is 0 too, so `if s.owner[p]:` would be false for the\n"
        "first request. Write the comparison: `s.owner[p] is not None`, `s.n != 0`. A set may be used as\n"
        "a condition: it is true unless it is empty. Where `and` or `or` gives a value, as in `s.ok =\n"
        "s.held and s.ok`, Python would give the set itself; write `len(s.held) > 0`.",
    ),
    "KV145": Entry(
        "dictionary",
        "Dictionaries are no values of a model. `{}` is an empty dictionary too: the empty set is set().\n"
        "Use an Array(index, element) of the state.",
    ),
    "KV146": Entry(
        "identity of values",
        "`is` asks for identity of Python objects, which values of a model do not have. It is allowed\n"
        "with None and with members of enumerations. Write == or != between values.",
    ),
    "KV147": Entry(
        "line never reached",
        "A statement stands after a `return` on every way to it, so it never happens. Delete it, or put\n"
        "the `return` under a condition.",
    ),
    "KV148": Entry(
        "not assignable",
        "The target of an assignment is no field, no element of an array of the state, and no local name.\n"
        "Parameters of the model are fixed by presets and scopes, constants by the module. Assign to a\n"
        "field of the state.",
    ),
    "KV149": Entry(
        "model without actions",
        "No function in the model's `parts` is decorated with @action. Nothing would ever happen, and\n"
        "every claim would be checked of the initial state alone. Decorate the actions, and list their\n"
        "modules: Model(..., parts=[__name__]).",
    ),
    "KV150": Entry(
        "number can become too large",
        "Numbers are 64 bits wide inside the engines, and nothing keeps this computed one below that: a\n"
        "product inside a loop, or a local that grows with every round. Bound it with min(x, limit), or\n"
        "keep it in a variable of type Int(lo, hi).",
    ),
    "KV151": Entry(
        "no initial state",
        "Every init function refuses every choice of its parameters: a `require` in it is never true. With\n"
        "no state to start from, every claim would hold for no reason. Init functions start from the zero\n"
        "state: False, the lowest number, None, the empty set, the first member, element 0. Weaken the\n"
        "guard, or store before it is asked.",
    ),
    "KV152": Entry(
        "leads_to without two conditions",
        "A function decorated with @leads_to says two things of a state: what starts the wait, and what\n"
        "ends it. It returns both on every way: `return s.waiting[r], s.served[r]`. For a goal without a\n"
        "beginning use @eventually, or @always_eventually if it must be reached again and again.",
    ),
    "KV153": Entry(
        "fairness of something that is no action",
        "weak(...) and strong(...) say which actions are not put off forever, so they take functions\n"
        "decorated with @action that belong to the model's `parts`. A helper, or an action of a module that\n"
        "is not among the parts, would make the assumption empty.",
    ),
    "KV154": Entry(
        "unknown parameter in fairness",
        "`per` names parameters of actions: weak(send, receive, per=\"r\") is one assumption for each r.\n"
        "Every action of the group must have a parameter of that name. Without `per` the group is fair as a\n"
        "whole: some step of it is taken if one stays possible.",
    ),
    "KV155": Entry(
        "citation not understood",
        "`cites=` says which code of the real engine an action or a parameter stands for, so that a change of\n"
        "that code can be noticed. A citation is FILE:NAME (a function, class or constant), FILE:--option,\n"
        "PROJECT:FILE:NAME for code of another project, #NUMBER for a pull request, or note: and words.\n"
        "Releases may stand in front: 0.5.21 (that one), 0.5.20+ (from it on), ..0.5.20 (up to it),\n"
        "0.5.19..0.5.21. Example: cites=\"0.5.20+ srt/disaggregation/decode.py:DecodePreallocQueue.add\".",
    ),
    "KV156": Entry(
        "pool or flights not found in the state",
        "Pool and Flights say which variables pictures and explanations are made of. Their paths are written\n"
        "as in the model, with a name for each index: Pool(\"decode\", DPage, owner=\"d_owner[d]\",\n"
        "content=\"d_content[d][p]\"). The page is the last index over its sort and may be left out at the end;\n"
        "in Flights, r is the request and k the position. Indices that mean the same have the same name.",
    ),
    "KV160": Entry(
        "proof: depends on a size",
        "A proof is about every number of requests and pages at once, and this line means something else\n"
        "for other sizes: len(Page), Int(0, Page), a table or a range made of a size. Say it of the\n"
        "elements (any, all, sets), or check the model for the sizes of a scope: kvproto check.",
    ),
    "KV161": Entry(
        "proof: names one element",
        "A proof is about sorts of any size, of which no element has a number: Req(0), int(r) and tuples\n"
        "of elements have no meaning there. Make the element a parameter of the action or of @init. The\n"
        "order of elements (`p < q`) is there.",
    ),
    "KV162": Entry(
        "proof: no relation over sorts",
        "State, parameters and indices become relations and functions over sorts: booleans, members,\n"
        "elements and optionals of these, sets of elements, numbers, in arrays and records. Queues have\n"
        "an order and bags have counts, so they are outside. Use sets, or check the model for the sizes\n"
        "of a scope.",
    ),
    "KV163": Entry(
        "proof: counts or multiplies",
        "How many elements a set has depends on sizes, and a product of two unknown numbers cannot be\n"
        "decided. Whether a set is empty can be asked (`not s.free`, any, len(...) == 0), sums,\n"
        "differences and multiples of numbers can be compared. Compare sets instead of counts, or fix a\n"
        "number with --set.",
    ),
    "KV164": Entry(
        "proof: rounds of a loop depend on each other",
        "A loop over a sort of any size is taken as one simultaneous update, so each round has to keep to\n"
        "the cells of its own element, or all have to write the same. A local that counts, or a last\n"
        "element that wins, has no such reading. Use any, all or a set, or let a parameter of the action\n"
        "choose the element.",
    ),
    "KV165": Entry(
        "proof: looked up inside of a quantifier",
        "Elements that the state gives (`s.owner[p]`) are relations in a proof. As an index of a number,\n"
        "or where next(...) chooses one, such an element has to be the same for the whole step. Quantify\n"
        "over it instead: `all(s.until[r] <= s.now for r in Req if s.owner[p] == r)`.",
    ),
    "KV166": Entry(
        "proof: a loop over sets",
        "Formulas quantify over elements of sorts, not over sets or optionals of them: subsets(Page) is\n"
        "outside. Quantify over the elements, or make the set a parameter of the action, which then\n"
        "chooses any set.",
    ),
    "KV167": Entry(
        "clause not understood",
        "`--clause` takes a condition over the state in the words of the model, with one name for each\n"
        "element that it is about: \"r, p: s.owner[p] == r or p not in s.flying[r]\". Names are matched to\n"
        "sorts by their first letters, or written r: Req, p: Page. A clause is checked like all others,\n"
        "never trusted.",
    ),
    "KV168": Entry(
        "proof: initial states not described",
        "Initial states have to be one formula: what @init stores must not be able to fail, and a set\n"
        "that it chooses can be stored in one field only. Require what makes the store safe before it,\n"
        "and read that field where the set is needed.",
    ),
    "KV169": Entry(
        "proof: nothing to prove",
        "The model has no invariant and no assertion among the properties that were asked for. Proofs are\n"
        "about what holds in every state; claims about whole runs, deadlocks and @sometimes are for\n"
        "kvproto check.",
    ),
}

_RUNNING: dict[str, Entry] = {
    "KV201": Entry(
        "value does not fit",
        "A step stores a value outside the type of its variable: 4 into Int(0, 3). The type is part of\n"
        "the claim that the author makes, so this is an error of the model and not a verdict on the\n"
        "protocol. The trace leads to it. Guard the store with `require`, take min(x, limit), or widen\n"
        "the type.",
    ),
    "KV202": Entry(
        "index outside the array",
        "A computed number is used as an index and is no element of the array's index type in some\n"
        "reachable state. Guard the line (`require(n < len(Page))`), or use an element of the sort\n"
        "instead of a number.",
    ),
    "KV203": Entry(
        "None used as a value",
        "An optional is used where a value is needed, and in some reachable state it is None. Guard the\n"
        "line: `require(s.page is not None)`, or `if s.page is not None:`. Where next(..., None) chooses\n"
        "an element, require first that there is one.",
    ),
    "KV204": Entry(
        "division by zero",
        "The right side of // or % is 0 in some reachable state. Guard the line with `require(n != 0)` or\n"
        "`if n != 0`.",
    ),
    "KV205": Entry(
        "minimum or maximum of nothing",
        "min(...) or max(...) ranges over no element in some reachable state, and has no default. Write\n"
        "`min(..., default=0)`, or guard the line.",
    ),
    "KV206": Entry(
        "queue is full",
        "append is called on a queue that holds as many elements as its type allows: Queue(Msg, 3) has room\n"
        "for three. The bound is part of the model, so this is an error of the model. Guard the step with\n"
        "`require(len(s.q) < 3)` if the sender waits, drop the message under `if` if the channel loses it,\n"
        "or give the queue more room.",
    ),
    "KV207": Entry(
        "queue is empty",
        "pop is called on a queue that holds nothing, or for a position behind its last element. Guard the\n"
        "step with `require(len(s.q) > 0)`, or put the line under `if`.",
    ),
    "KV208": Entry(
        "bag holds too many copies",
        "add is called on a bag that holds as many copies of the element as its type allows: Bag(Msg, 2) has\n"
        "room for two of each. Guard the step with `require(s.bag.count(m) < 2)`, or use a larger bound, or\n"
        "a Set if copies do not matter.",
    ),
}

_FINDINGS: dict[str, Entry] = {
    "KV301": Entry(
        "action that never happens",
        "The search was complete, and this action is enabled in no reachable state although its\n"
        "parameters are switched on. Claims about what it does hold for no reason: the guard is probably\n"
        "too strong, or something that should enable it is missing. Compare its `require` lines with the\n"
        "states that are reached. An action whose own `require` asks for a parameter that is off is not\n"
        "reported; one that is never enabled because another one is off is.",
    ),
    "KV302": Entry(
        "property that says nothing here",
        "The property has the form `if this, then that`, the search was complete, and `this` is true in no\n"
        "reachable state. So it holds whatever `that` is. Usually the scope is too small, or something that\n"
        "should lead to `this` is missing from the model. The verdict is inconclusive.",
    ),
    "KV304": Entry(
        "proof about nothing",
        "A theory without initial states, or whose assumptions contradict each other, has every property:\n"
        "nothing can go wrong where nothing can happen. kvproto asks for an initial state before it proves\n"
        "anything. Look at the assumptions on symbolic parameters, the `require` lines of @init.",
    ),
    "KV306": Entry(
        "not a certificate",
        "A file that `kvproto prove --recheck` was given is not a certificate: a JSON object that says\n"
        "`\"schema\": \"kvproto.proof/1\"`. `kvproto prove TARGET --certificate FILE` writes one, and those of\n"
        "the shipped proofs are in the folder proofs. A certificate that is one, and proves nothing of the\n"
        "model as it is now, is not this error: it is refused, with the reason, and the exit code is 1.",
    ),
}

CATALOGUE: dict[str, Entry] = {**_USAGE, **_LANGUAGE, **_RUNNING, **_FINDINGS}
