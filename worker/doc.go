// Package worker runs turns. A Worker claims ready sessions for its process,
// runs their turns through a runner.Runtime (the standard one, model ⇄ tools,
// is built in), renews the process's lease, takes over what dead processes left,
// applies the outbox and flushes streaming text to the store.
//
// It owns no truth. The store is authoritative for every state: each write
// carries the claim's fence, and a write that the store refuses as fenced ends
// the run without another one. The hub is told of streaming text for watchers
// and may lose all of it. A run ends by a cancel of its turn (ErrCancelled), a
// stop of the process (ErrStopped) or the loss of the lease (ErrLeaseLost); the
// cause of the run's context tells which. Only the first two still write.
//
// When the renewal of the lease fails for as long as the lease lasts, or the
// store says that it is gone, every run is aborted at once and the process
// registers under a new id. Nothing is written for the old one. A process that was
// stopped past its lease asks the store before it gives anything up: alone on its
// database, it goes on where it was.
//
// Who gets a place in the process is store.Occupancy's to say, for the posts that
// claim their own turns (Offer) as for Claim.
package worker
