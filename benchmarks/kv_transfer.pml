/* The benchmark protocol in Promela, tuned by hand for SPIN: R requests, P pages, K pages per request.
   The same protocol as models/kv_transfer.py, with the same number of states; kvproto bench runs it.

     spin -o2 -DR=3 -DP=6 -DK=2 -a kv_transfer.pml
     cc -O3 -w -DSAFETY -DNOREDUCE -DNOFAIR -DNOBOUNDCHECK -o pan pan.c && ./pan -m1000 -w20

   -DVULN      pages of an aborted request are freed at once
   -DNOCLAIMS  states are counted, nothing is asserted (the tuned program of the benchmark keeps its assertions)
   -DNOHID     for searches that know no hidden variables: -DBFS, -DNCORE

   What is tuned: a process for each request keeps the state small; owners and writes under way are bit masks, so no
   step has a loop over pages but the one that reserves; every step is one d_step with a guard of a few operations. */
#ifndef R
#define R 3
#endif
#ifndef P
#define P 6
#endif
#ifndef K
#define K 2
#endif

#define NEW 0
#define RESERVED 1
#define PREFILL 2
#define TRANSFER 3
#define DONE 4
#define DECODING 5
#define FINISHED 6
#define ABORTED 7

#define ALL ((1 << P) - 1)

byte phase[R];
byte owned[R];   /* pages that belong to the request */
byte flying[R];  /* writes posted, not yet landed */
byte mark[P];    /* last writer of each page, plus 1 */
bit stray;       /* some write landed in a page of another request */

#ifdef NOHID
byte room, low;
#else
hidden byte room, low;
#endif

#define me _pid

#if R == 2
#define TAKEN (owned[0] | owned[1])
#elif R == 3
#define TAKEN (owned[0] | owned[1] | owned[2])
#elif R == 4
#define TAKEN (owned[0] | owned[1] | owned[2] | owned[3])
#elif R == 5
#define TAKEN (owned[0] | owned[1] | owned[2] | owned[3] | owned[4])
#endif

/* Masks with at least K of the bits 0 .. P-1: what is left without its K-1 lowest ones is not empty. */
#define drop(m) ((m) & ((m) - 1))
#if K == 1
#define ENOUGH(m) ((m) != 0)
#elif K == 2
#define ENOUGH(m) (drop(m) != 0)
#elif K == 3
#define ENOUGH(m) (drop(drop(m)) != 0)
#endif

#define TAKE low = room & (256 - room); owned[me] = owned[me] | low; room = room - low

#define OWN(p) (!(owned[me] & (1 << p)) || mark[p] == me + 1)
#if P == 6
#define OWN_DATA (OWN(0) && OWN(1) && OWN(2) && OWN(3) && OWN(4) && OWN(5))
#elif P == 4
#define OWN_DATA (OWN(0) && OWN(1) && OWN(2) && OWN(3))
#endif

#ifdef NOCLAIMS
#define CLAIM(x)
#else
#define CLAIM(x) assert(x);
#endif

#define LAND(p) d_step { flying[me] & (1 << p) -> mark[p] = me + 1; flying[me] = flying[me] - (1 << p); \
	if :: (TAKEN - owned[me]) & (1 << p) -> stray = 1; CLAIM(0) :: else fi }

active [R] proctype request()
{
end:	do
	:: d_step { phase[me] == NEW && ENOUGH(ALL & (ALL - TAKEN)) ->
		room = ALL - TAKEN;
		TAKE;
#if K > 1
		TAKE;
#endif
#if K > 2
		TAKE;
#endif
		room = 0; low = 0;
		phase[me] = RESERVED }
	:: d_step { phase[me] == RESERVED -> phase[me] = PREFILL }
	:: d_step { phase[me] == PREFILL -> flying[me] = owned[me]; phase[me] = TRANSFER }
	:: d_step { phase[me] == TRANSFER && flying[me] == 0 -> phase[me] = DONE }
	:: d_step { phase[me] == DONE -> phase[me] = DECODING; CLAIM(OWN_DATA) }
	:: d_step { phase[me] == DECODING -> CLAIM(OWN_DATA) owned[me] = 0; phase[me] = FINISHED }
#ifdef VULN
	:: d_step { phase[me] < FINISHED -> owned[me] = 0; phase[me] = ABORTED }
#else
	:: d_step { phase[me] < FINISHED ->
		if :: flying[me] == 0 -> owned[me] = 0 :: else fi;
		phase[me] = ABORTED }
	:: d_step { phase[me] == ABORTED && flying[me] == 0 && owned[me] != 0 -> owned[me] = 0 }
#endif
	:: LAND(0)
	:: LAND(1)
	:: LAND(2)
	:: LAND(3)
#if P == 6
	:: LAND(4)
	:: LAND(5)
#endif
	od
}
