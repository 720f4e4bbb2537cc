// Package transition is the core that the stores share: what each transition of
// sessions and turns checks, computes and leaves behind, without a word of SQL.
//
// A store gives a Tx its Rows to read from, calls one method of it, and writes
// what stands in the Changes of the heads that the method locked. The core never
// reads what it has written in the same transition: until the store writes,
// everything stands in memory, so that a refusal has written nothing and a store
// may send all of it at once. Who is authoritative: the store, for its rows and
// its clock; the core, for which of them a transition changes and how.
package transition
