package store

import (
	"context"
	"time"

	"example.org/parley"
)

// The bounds of linking the audit.
const (
	LinkEntries   = 256  // entries that one transaction links
	LinkHeads     = 256  // heads of sessions that one link holds
	LinkPassHeads = 1000 // sessions that one step of a pass looks at
)

// LinkStep reports one step of a linker.
type LinkStep struct {
	Held   bool      // this linker links; else another one does
	Linked int       // links made
	More   bool      // there is more to link at once
	Last   parley.ID // where the pass over the sessions is; zero at its end
	Gone   int       // entries that were removed before they were linked, by another hand than Parley's
}

// AuditLinker links what the audit holds, behind the transactions that wrote it.
type AuditLinker interface {
	// LinkAudit links the next entries that are not linked, and the heads of the
	// sessions named and of the next ones behind after, where they have moved since
	// they were linked, in one transaction. The linker holds a lease: one at a time
	// links, whichever asks when the lease has run out. A link of another linker
	// meanwhile is CodeFenced, and nothing is written.
	LinkAudit(
		ctx context.Context,
		linker parley.ID,
		lease time.Duration,
		changed []parley.ID,
		after *parley.ID,
	) (LinkStep, error)
	// AuditAnchor is the end of the chain; number 0 before the first link.
	AuditAnchor(ctx context.Context) (parley.Anchor, error)
}
