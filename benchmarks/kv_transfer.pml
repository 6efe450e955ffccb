/* The benchmark protocol in Promela, tuned by hand for SPIN: R requests, P pages, K pages per request.
   The same protocol as models/kv_transfer.py, with the same number of states; kvproto bench runs it.

     spin -o2 -DR=3 -DP=6 -DK=2 -a kv_transfer.pml
     cc -O3 -w -DSAFETY -DNOREDUCE -DNOFAIR -DNOBOUNDCHECK -o pan pan.c && ./pan -m1000 -w20

   -DVULN   pages of an aborted request are freed at once
   -DNOHID  for searches that know no hidden variables: -DBFS, -DNCORE

   What is tuned: one process instead of one for each request, which saves 4 bytes of every state for each; what a
   request owns and its writes under way are bit masks, so that no step loops over pages; every step is one d_step
   behind a guard of a few operations.  With a process for each request and owners page by page SPIN takes a tenth
   to a fifth longer. */
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

byte phase[R];
byte owned[R];   /* pages that belong to the request */
byte flying[R];  /* its writes posted and not yet landed */
byte mark[P];    /* last writer of each page, plus 1 */
bit stray;       /* some write landed in a page of another request */

#ifdef NOHID
byte room, low;
#else
hidden byte room, low;
#endif

#if R == 2
#define TAKEN (owned[0] | owned[1])
#elif R == 3
#define TAKEN (owned[0] | owned[1] | owned[2])
#elif R == 4
#define TAKEN (owned[0] | owned[1] | owned[2] | owned[3])
#elif R == 5
#define TAKEN (owned[0] | owned[1] | owned[2] | owned[3] | owned[4])
#endif
#define ROOM (((1 << P) - 1) - TAKEN)

/* At least K free pages: without the K-1 lowest ones some are left.  Then the K lowest are taken. */
#define DROP(m) ((m) & ((m) - 1))
#define TAKE(r) low = room & (256 - room); owned[r] = owned[r] | low; room = room - low
#if K == 1
#define ENOUGH (ROOM != 0)
#define TAKE_ALL(r) TAKE(r)
#elif K == 2
#define ENOUGH (DROP(ROOM) != 0)
#define TAKE_ALL(r) TAKE(r); TAKE(r)
#elif K == 3
#define ENOUGH (DROP(DROP(ROOM)) != 0)
#define TAKE_ALL(r) TAKE(r); TAKE(r); TAKE(r)
#endif

#define WROTE(r, p) (!(owned[r] & (1 << p)) || mark[p] == r + 1)
#define LAND(r, p) d_step { flying[r] & (1 << p) -> mark[p] = r + 1; flying[r] = flying[r] - (1 << p); \
	if :: (TAKEN - owned[r]) & (1 << p) -> stray = 1; assert(!stray) :: else fi }
#if P == 6
#define OWN_DATA(r) (WROTE(r, 0) && WROTE(r, 1) && WROTE(r, 2) && WROTE(r, 3) && WROTE(r, 4) && WROTE(r, 5))
#define LANDINGS(r) :: LAND(r, 0) :: LAND(r, 1) :: LAND(r, 2) :: LAND(r, 3) :: LAND(r, 4) :: LAND(r, 5)
#elif P == 4
#define OWN_DATA(r) (WROTE(r, 0) && WROTE(r, 1) && WROTE(r, 2) && WROTE(r, 3))
#define LANDINGS(r) :: LAND(r, 0) :: LAND(r, 1) :: LAND(r, 2) :: LAND(r, 3)
#endif

#ifdef VULN
#define ABORTING(r) \
	:: d_step { phase[r] < FINISHED -> owned[r] = 0; phase[r] = ABORTED }
#else
#define ABORTING(r) \
	:: d_step { phase[r] < FINISHED -> if :: flying[r] == 0 -> owned[r] = 0 :: else fi; phase[r] = ABORTED } \
	:: d_step { phase[r] == ABORTED && flying[r] == 0 && owned[r] != 0 -> owned[r] = 0 }
#endif

#define STEPS(r) \
	:: d_step { phase[r] == NEW && ENOUGH -> \
		room = ROOM; TAKE_ALL(r); room = 0; low = 0; phase[r] = RESERVED } \
	:: d_step { phase[r] == RESERVED -> phase[r] = PREFILL } \
	:: d_step { phase[r] == PREFILL -> flying[r] = owned[r]; phase[r] = TRANSFER } \
	:: d_step { phase[r] == TRANSFER && flying[r] == 0 -> phase[r] = DONE } \
	:: d_step { phase[r] == DONE -> phase[r] = DECODING; assert(OWN_DATA(r)) } \
	:: d_step { phase[r] == DECODING -> assert(OWN_DATA(r)); owned[r] = 0; phase[r] = FINISHED } \
	ABORTING(r) LANDINGS(r)

active proctype system()
{
end:	do
	STEPS(0)
	STEPS(1)
#if R > 2
	STEPS(2)
#endif
#if R > 3
	STEPS(3)
#endif
#if R > 4
	STEPS(4)
#endif
	od
}
