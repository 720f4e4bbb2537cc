// Package transition is the core that the stores share: what each transition of sessions and turns
// checks, computes and changes, without any SQL.
//
// A store gives a Tx its Rows to read from, calls one of its methods, and writes the Changes of the
// heads that the method locked. The core never reads its own writes within a transition: everything
// stays in memory until the store writes it, so a refusal writes nothing, and a store may send all
// of it at once. The store is authoritative for its rows and its clock; the core decides which rows
// a transition changes, and how.
package transition
