/* kv_transfer@safe, scope S, written by kvproto export --to promela.
   Parameters: Req=3, Page=6, deferred_release=True, pages_per_request=2.
     spin -o2 -a FILE && cc -O2 -w -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -m1000000 -n
   SPIN stores as many states as kvproto; without -o2 it would drop variables that are only written.
   For -DBFS, which knows no hidden variables, add -DNOHID behind spin. */
#define None 0
#define Phase_NEW 0
#define Phase_RESERVED 1
#define Phase_PREFILL 2
#define Phase_TRANSFER 3
#define Phase_DONE 4
#define Phase_DECODING 5
#define Phase_FINISHED 6
#define Phase_ABORTED 7

byte phase[3];
byte owner[6];
byte mark[6];
byte flying[3];
bit stray;
#ifdef NOHID
#define hidden
#endif
hidden int taken_;
hidden byte p_;

/* decode: Decode reserves the lowest-numbered free pages for request {r}. (models/kv_transfer.py:83) */
inline reserve(r) {
  d_step {
    phase[r] == Phase_NEW && 2 <= (owner[0] == None) + (owner[1] == None) + (owner[2] == None) + (owner[3] ==
        None) + (owner[4] == None) + (owner[5] == None) ->
    taken_ = 0;
    for (p_ : 0 .. 5) {
      if
      :: taken_ < 2 && owner[p_] == None ->
        owner[p_] = r + 1;
        taken_ = taken_ + 1;
      :: else
      fi;
    }
    phase[r] = Phase_RESERVED;
    taken_ = 0;
    p_ = 0;
  }
}

/* prefill: Prefill computes the prompt of request {r}. (models/kv_transfer.py:96) */
inline start(r) {
  d_step {
    phase[r] == Phase_RESERVED ->
    phase[r] = Phase_PREFILL;
  }
}

/* prefill: Prefill posts one write to each page of request {r}. (models/kv_transfer.py:103) */
inline post(r) {
  d_step {
    phase[r] == Phase_PREFILL ->
    flying[r] = (owner[0] == r + 1 -> 1 : 0) | (owner[1] == r + 1 -> 2 : 0) | (owner[2] == r + 1 -> 4 : 0) |
        (owner[3] == r + 1 -> 8 : 0) | (owner[4] == r + 1 -> 16 : 0) | (owner[5] == r + 1 -> 32 : 0);
    phase[r] = Phase_TRANSFER;
  }
}

/* network: The write of request {r} to page {p} lands, whatever became of the request.
   (models/kv_transfer.py:111) */
inline land(r, p) {
  d_step {
    (flying[r] >> p) & 1 ->
    if
    :: !(owner[p] == None || owner[p] == r + 1) ->
      stray = true;
    :: else
    fi;
    mark[p] = r + 1;
    flying[r] = flying[r] & ~(1 << p);
  }
}

/* prefill: All writes of request {r} have landed: prefill reports success. (models/kv_transfer.py:121) */
inline complete(r) {
  d_step {
    phase[r] == Phase_TRANSFER && flying[r] == 0 ->
    phase[r] = Phase_DONE;
  }
}

/* decode: Decode reads the pages of request {r}. (models/kv_transfer.py:128) */
inline attend(r) {
  d_step {
    phase[r] == Phase_DONE ->
    phase[r] = Phase_DECODING;
  }
}

/* decode: Request {r} has its answer; decode frees its pages. (models/kv_transfer.py:135) */
inline finish(r) {
  d_step {
    phase[r] == Phase_DECODING ->
    for (p_ : 0 .. 5) {
      if
      :: owner[p_] == r + 1 ->
        owner[p_] = None;
      :: else
      fi;
    }
    phase[r] = Phase_FINISHED;
    p_ = 0;
  }
}

/* decode: Request {r} is aborted; its pages are freed at once unless release is deferred and writes are under
   way. (models/kv_transfer.py:143) */
inline abort(r) {
  d_step {
    !(phase[r] == Phase_FINISHED || phase[r] == Phase_ABORTED) ->
    if
    :: flying[r] == 0 ->
      for (p_ : 0 .. 5) {
        if
        :: owner[p_] == r + 1 ->
          owner[p_] = None;
        :: else
        fi;
      }
    :: else
    fi;
    phase[r] = Phase_ABORTED;
    p_ = 0;
  }
}

/* decode: The last write of aborted request {r} has landed; decode frees its pages.
   (models/kv_transfer.py:152) */
inline release_2(r) {
  d_step {
    phase[r] == Phase_ABORTED && flying[r] == 0 && (owner[0] == r + 1 || owner[1] == r + 1 || owner[2] == r +
        1 || owner[3] == r + 1 || owner[4] == r + 1 || owner[5] == r + 1) ->
    for (p_ : 0 .. 5) {
      if
      :: owner[p_] == r + 1 ->
        owner[p_] = None;
      :: else
      fi;
    }
    p_ = 0;
  }
}

active proctype system() {
end:
  do
  :: reserve(0);
  :: reserve(1);
  :: reserve(2);
  :: start(0);
  :: start(1);
  :: start(2);
  :: post(0);
  :: post(1);
  :: post(2);
  :: land(0, 0);
  :: land(0, 1);
  :: land(0, 2);
  :: land(0, 3);
  :: land(0, 4);
  :: land(0, 5);
  :: land(1, 0);
  :: land(1, 1);
  :: land(1, 2);
  :: land(1, 3);
  :: land(1, 4);
  :: land(1, 5);
  :: land(2, 0);
  :: land(2, 1);
  :: land(2, 2);
  :: land(2, 3);
  :: land(2, 4);
  :: land(2, 5);
  :: complete(0);
  :: complete(1);
  :: complete(2);
  :: attend(0);
  :: attend(1);
  :: attend(2);
  :: finish(0);
  :: finish(1);
  :: finish(2);
  :: abort(0);
  :: abort(1);
  :: abort(2);
  :: release_2(0);
  :: release_2(1);
  :: release_2(2);
  od
}
