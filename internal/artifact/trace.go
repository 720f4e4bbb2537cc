package artifact

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/internal/document"
	"example.org/parley/store"
)

// History is what following a passage needs of a store.
type History interface {
	Store
	ArtifactVersions(
		ctx context.Context, scope store.Scope, id parley.ID, query store.ArtifactVersionQuery,
	) ([]parley.ArtifactVersion, error)
}

// Passage is a part of a version: the value at a JSON Pointer, or lines of a text, both included and counted from 1.
type Passage struct {
	Pointer  string
	From, To int
}

// Origin is what Trace has found.
type Origin struct {
	Version parley.ArtifactVersion // the version that last changed the passage
	Passage Passage                // where it stands in that version
	// Complete tells that no bound was reached. Otherwise the version is the oldest that was compared: the passage is
	// the same in it, and an older one may have written it.
	Complete bool
}

// traceBounds bound the work of one Trace.
type traceBounds struct {
	versions int           // that it goes through
	bytes    int           // of the contents that it compares
	time     time.Duration // after which it begins no further comparison
}

// The bounds of a Trace.
const (
	maxTracedVersions = 2000
	maxTracedBytes    = 256 << 20
	maxTraceTime      = 2 * time.Second
	tracedPage        = 200 // versions that are read at once
)

// Trace finds the version that last changed a passage of a version: it goes back through the parents, and from a
// restored version to the one that it restored, until the passage differs. CodeNotFound; CodeInvalid, with Field
// "pointer" or "range", for a passage that the version does not have.
func Trace(
	ctx context.Context, from History, scope store.Scope, a *parley.Artifact, number int, passage Passage,
) (Origin, error) {
	return traceBounds{maxTracedVersions, maxTracedBytes, maxTraceTime}.trace(ctx, from, scope, a, number, passage)
}

func (b traceBounds) trace(
	ctx context.Context, from History, scope store.Scope, a *parley.Artifact, number int, passage Passage,
) (Origin, error) {
	begun, left := time.Now(), b
	known := versions{from: from, scope: scope, id: a.ID}
	at, err := known.version(ctx, number)
	if err != nil {
		return Origin{}, err
	}
	content, err := left.read(ctx, from, &at)
	if err != nil {
		return Origin{}, err
	}
	if _, _, err := before(a.Kind, content, content, passage); err != nil {
		return Origin{}, err
	}
	for {
		older := at.Parent
		if at.RestoredFrom != 0 {
			older = at.RestoredFrom
		}
		if older == 0 {
			return Origin{at, passage, true}, nil
		}
		if left.versions--; left.versions <= 0 || left.bytes <= 0 || time.Since(begun) > b.time {
			return Origin{at, passage, false}, nil
		}
		parent, err := known.version(ctx, older)
		if err != nil {
			return Origin{}, err
		}
		if parent.ContentHash != at.ContentHash {
			was, err := left.read(ctx, from, &parent)
			if err != nil {
				return Origin{}, err
			}
			there, changed, err := before(a.Kind, was, content, passage)
			if err != nil || changed {
				return Origin{at, passage, true}, err
			}
			content, passage = was, there
		}
		at = parent
	}
}

func (b *traceBounds) read(ctx context.Context, from History, v *parley.ArtifactVersion) ([]byte, error) {
	_, content, _, err := read(ctx, from, v.WorkspaceID, v.ContentHash)
	b.bytes -= len(content)
	return content, err
}

// before returns where a passage of newer stands in older, unless it has changed.
func before(kind parley.ArtifactKind, older, newer []byte, p Passage) (there Passage, changed bool, err error) {
	if kind == parley.ArtifactJSON {
		there.Pointer, changed, err = document.TraceJSON(older, newer, p.Pointer)
		return there, changed, err
	}
	there.From, there.To, changed, err = document.TraceLines(string(older), string(newer), p.From, p.To)
	return there, changed, err
}

// versions reads the versions of an artifact, a page at a time.
type versions struct {
	from  History
	scope store.Scope
	id    parley.ID
	page  []parley.ArtifactVersion // newest first
}

func (v *versions) version(ctx context.Context, number int) (parley.ArtifactVersion, error) {
	if found, has := v.paged(number); has {
		return found, nil
	}
	page, err := v.from.ArtifactVersions(ctx, v.scope, v.id, store.ArtifactVersionQuery{
		After: number + 1, Limit: tracedPage,
	})
	if err != nil {
		return parley.ArtifactVersion{}, err
	}
	v.page = page
	if found, has := v.paged(number); has {
		return found, nil
	}
	return parley.ArtifactVersion{}, parley.Errorf(parley.CodeNotFound, "there is no version %d", number)
}

// paged finds a version in the page: versions are numbered without gaps.
func (v *versions) paged(number int) (found parley.ArtifactVersion, has bool) {
	if len(v.page) == 0 {
		return found, false
	}
	if i := v.page[0].Number - number; i >= 0 && i < len(v.page) && v.page[i].Number == number {
		return v.page[i], true
	}
	return found, false
}
