// Package worker runs turns. A Worker claims ready sessions for its process, has a
// runner.Runtime run their turns by the handle that it gives on each (runner/standard is
// built in), renews the process's lease, takes over what dead processes left, applies the
// outbox and flushes streaming text to the store.
//
// The store is authoritative for every state: each write carries the claim's fence, and if the
// store refuses a write as fenced, the run ends without writing again. The worker passes streaming
// text to the hub for watchers; the hub may lose all of it. A run ends early if its turn is
// cancelled (ErrCancelled), the process stops (ErrStopped) or the lease is lost (ErrLeaseLost); the
// cause of the run's context says which. Only the first two still write.
//
// If renewing the lease fails for as long as the lease lasts, or the store says that the lease is
// gone, every run is aborted immediately and the process registers under a new id. Nothing is
// written for the old one. A process that was stopped past its lease asks the store before it gives
// anything up: if it is alone on its database, it continues where it was.
//
// store.Occupancy decides which turns get a slot in the process, both for posts that claim their
// own turns (Offer) and for Claim.
package worker
