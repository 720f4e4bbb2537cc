package store

import (
	"context"
	"time"

	"example.org/parley"
)

// Bounds of linking the audit.
const (
	LinkEntries   = 256  // entries linked in one transaction
	LinkHeads     = 256  // session heads in one link
	LinkPassHeads = 1000 // sessions that one step of a pass examines
)

// LinkStep reports one step of a linker.
type LinkStep struct {
	Held   bool      // this linker has the lease; otherwise another linker does
	Linked int       // links made
	More   bool      // more entries are ready to link
	Last   parley.ID // position of the pass over the sessions; zero at its end
	Gone   int       // entries removed before they were linked, which Parley never does
}

// AuditLinker chains audit entries after the transactions that wrote them.
type AuditLinker interface {
	// LinkAudit links, in one transaction, the next unlinked entries and the heads that moved since they were last
	// linked: those of the named sessions and of the next ones after a given session. A lease admits one linker at a
	// time; once it expires, any linker may take it. CodeFenced, with nothing written, if another linker linked
	// meanwhile.
	LinkAudit(
		ctx context.Context,
		linker parley.ID,
		lease time.Duration,
		changed []parley.ID,
		after *parley.ID,
	) (LinkStep, error)
	// AuditAnchor returns the end of the chain; its number is 0 before the first link.
	AuditAnchor(ctx context.Context) (parley.Anchor, error)
}
