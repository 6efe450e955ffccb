----------------------------- MODULE kv_transfer -----------------------------
(* kv_transfer@safe, scope S, written by kvproto export --to tla.  Parameters: Req=3, Page=6, *)
(* deferred_release=True, pages_per_request=2.                                                *)
(*   java -cp tla2tools.jar tlc2.TLC -config kv_transfer.cfg kv_transfer.tla                  *)
EXTENDS Integers, FiniteSets

CONSTANT None

Req == 0 .. 2
Phase == {"NEW", "RESERVED", "PREFILL", "TRANSFER", "DONE", "DECODING", "FINISHED", "ABORTED"}
Page == 0 .. 5

VARIABLES phase, owner, mark, flying, stray
vars == <<phase, owner, mark, flying, stray>>

(* What the search of kvproto checks at every store. *)
TypeOK ==
    /\ phase \in [Req -> Phase]
    /\ owner \in [Page -> Req \cup {None}]
    /\ mark \in [Page -> Req \cup {None}]
    /\ flying \in [Req -> SUBSET Page]
    /\ stray \in BOOLEAN

Init ==
    /\ phase = [i \in Req |-> "NEW"]
    /\ owner = [i \in Page |-> None]
    /\ mark = [i \in Page |-> None]
    /\ flying = [i \in Req |-> {}]
    /\ stray = FALSE

(* decode: Decode reserves the lowest-numbered free pages for request {r}. *)
(* (models/kv_transfer.py:83)                                              *)
reserve(r) ==
    /\ phase[r] = "NEW"
    /\ 2 <= Cardinality({p \in Page : owner[p] = None})
    /\ LET loop[n \in 0 .. 6] ==
               IF n = 0
               THEN [owner |-> owner, taken |-> 0]
               ELSE LET so_far == loop[n - 1]
                        p_2 == n - 1
                        taken_2 == IF so_far.taken < 2 /\ so_far.owner[p_2] = None THEN
                              so_far.taken + 1 ELSE so_far.taken
                    IN  [owner |-> [so_far.owner EXCEPT ![p_2] = IF so_far.taken < 2 /\
                          so_far.owner[p_2] = None THEN r ELSE @], taken |-> taken_2]
       IN  /\ phase' = [phase EXCEPT ![r] = "RESERVED"]
           /\ owner' = loop[6].owner
           /\ UNCHANGED <<mark, flying, stray>>

(* prefill: Prefill computes the prompt of request {r}. (models/kv_transfer.py:96) *)
start(r) ==
    /\ phase[r] = "RESERVED"
    /\ phase' = [phase EXCEPT ![r] = "PREFILL"]
    /\ UNCHANGED <<owner, mark, flying, stray>>

(* prefill: Prefill posts one write to each page of request {r}. (models/kv_transfer.py:103) *)
post(r) ==
    /\ phase[r] = "PREFILL"
    /\ phase' = [phase EXCEPT ![r] = "TRANSFER"]
    /\ flying' = [flying EXCEPT ![r] = {p \in Page : owner[p] = r}]
    /\ UNCHANGED <<owner, mark, stray>>

(* network: The write of request {r} to page {p} lands, whatever became of the request. *)
(* (models/kv_transfer.py:111)                                                          *)
land(r, p) ==
    /\ p \in flying[r]
    /\ LET when == ~(owner[p] = None \/ owner[p] = r)
       IN  /\ mark' = [mark EXCEPT ![p] = r]
           /\ flying' = [flying EXCEPT ![r] = flying[r] \ {p}]
           /\ stray' = (when \/ stray)
           /\ UNCHANGED <<phase, owner>>

(* prefill: All writes of request {r} have landed: prefill reports success. *)
(* (models/kv_transfer.py:121)                                              *)
complete(r) ==
    /\ phase[r] = "TRANSFER" /\ flying[r] = {}
    /\ phase' = [phase EXCEPT ![r] = "DONE"]
    /\ UNCHANGED <<owner, mark, flying, stray>>

(* decode: Decode reads the pages of request {r}. (models/kv_transfer.py:128) *)
attend(r) ==
    /\ phase[r] = "DONE"
    /\ phase' = [phase EXCEPT ![r] = "DECODING"]
    /\ UNCHANGED <<owner, mark, flying, stray>>

(* decode: Request {r} has its answer; decode frees its pages. (models/kv_transfer.py:135) *)
finish(r) ==
    /\ phase[r] = "DECODING"
    /\ phase' = [phase EXCEPT ![r] = "FINISHED"]
    /\ owner' = [p \in Page |-> IF owner[p] = r THEN None ELSE owner[p]]
    /\ UNCHANGED <<mark, flying, stray>>

(* decode: Request {r} is aborted; its pages are freed at once unless release is deferred and *)
(* writes are under way. (models/kv_transfer.py:143)                                          *)
abort(r) ==
    /\ ~(phase[r] = "FINISHED" \/ phase[r] = "ABORTED")
    /\ phase' = [phase EXCEPT ![r] = "ABORTED"]
    /\ owner' = IF flying[r] = {} THEN [p \in Page |-> IF owner[p] = r THEN None ELSE owner[p]] ELSE
          owner
    /\ UNCHANGED <<mark, flying, stray>>

(* decode: The last write of aborted request {r} has landed; decode frees its pages. *)
(* (models/kv_transfer.py:152)                                                       *)
release(r) ==
    /\ phase[r] = "ABORTED" /\ flying[r] = {}
    /\ (\E p \in Page : owner[p] = r)
    /\ owner' = [p \in Page |-> IF owner[p] = r THEN None ELSE owner[p]]
    /\ UNCHANGED <<phase, mark, flying, stray>>

Next ==
    \/ \E r \in Req : reserve(r)
    \/ \E r \in Req : start(r)
    \/ \E r \in Req : post(r)
    \/ \E r \in Req, p \in Page : land(r, p)
    \/ \E r \in Req : complete(r)
    \/ \E r \in Req : attend(r)
    \/ \E r \in Req : finish(r)
    \/ \E r \in Req : abort(r)
    \/ \E r \in Req : release(r)

Spec == Init /\ [][Next]_vars

(* a decoding request owns only pages that it wrote last                   *)
(*                                                                         *)
(* Otherwise the answer is computed from somebody else's KV, or from none. *)
own_data ==
    \A r \in Req : \A p \in Page : phase[r] = "DECODING" /\ owner[p] = r => mark[p] = r

(* no write lands in a page that belongs to another request                    *)
(*                                                                             *)
(* A stray write silently replaces the KV of a request that did nothing wrong. *)
no_stray ==
    ~stray

==============================================================================
