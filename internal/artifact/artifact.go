// Package artifact writes and reads the contents of artifacts, for people and for agents alike: it applies a change to
// the version that its writer had read, merges it with what others have written since if asked to, checks the result,
// and packs it for the store. It owns no state. The store decides: whoever writes first makes the next version, and
// the other one begins again here or is told of both.
package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/document"
	"example.org/parley/internal/schema"
	"example.org/parley/internal/upload"
	"example.org/parley/store"
)

// Reader is what reading contents needs of a store.
type Reader interface {
	Artifact(ctx context.Context, scope store.Scope, id parley.ID) (parley.Artifact, error)
	ArtifactVersion(ctx context.Context, scope store.Scope, id parley.ID, number int) (parley.ArtifactVersion, error)
	ArtifactContent(ctx context.Context, workspaceID parley.ID, hash parley.Hash) ([]store.ArtifactContent, error)
}

// Store is what this package needs of a store.
type Store interface {
	Reader

	CreateArtifact(ctx context.Context, artifact store.NewArtifact) (parley.Artifact, bool, error)
	WriteArtifact(ctx context.Context, version store.NewArtifactVersion) (parley.ArtifactVersion, bool, error)
	WrittenVersion(
		ctx context.Context, workspaceID, artifactID parley.ID, idempotency store.Idempotency,
	) (*parley.ArtifactVersion, error)
}

// Versions is where versions are found by their contents.
type Versions interface {
	ArtifactVersions(
		ctx context.Context, scope store.Scope, id parley.ID, query store.ArtifactVersionQuery,
	) ([]parley.ArtifactVersion, error)
}

// Writing is a change of an artifact. One of Content, Edits, Patch and Restore says what to write.
type Writing struct {
	Scope      store.Scope // of the writer
	ArtifactID parley.ID
	// Base is the version that the change began with; 0: the current one.
	Base int
	// Merge joins the change with later versions that do not touch the same places.
	Merge bool

	Content []byte            // the whole new content; nil: none
	Edits   []parley.TextEdit // passages to replace; not in a json artifact
	Patch   []parley.JSONEdit // operations on a json artifact
	Restore int               // the version whose content to write again

	Version     parley.ArtifactVersion // its author, and the tool call
	Edit        store.Edit             // of what is written by hand
	MaxStorage  int64                  // bytes that the workspace may hold; 0: unlimited
	Idempotency store.Idempotency
}

// attempts bounds how often a change that may be merged, or names no base, begins again because others were faster.
const attempts = 8

// Create stores an artifact with its first version. The bool reports a repeat of the idempotency key. Errors are those
// of the store, and CodeInvalid and CodeTooLarge for the content.
func Create(
	ctx context.Context,
	to Store,
	creating store.NewArtifact,
	content []byte,
) (parley.Artifact, bool, error) {
	content, err := check(ctx, &creating.Artifact, content)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	creating.Content, creating.Version.MediaType = pack(nil, nil, content), mediaType(&creating.Artifact, content)
	return to.CreateArtifact(ctx, creating)
}

// Write adds a version. The bool reports a repeat of the idempotency key. CodeConflict with Stale for a base that is
// not the newest version, unless the change is merged; CodeInvalid and CodeTooLarge for a change that does not apply
// or content that the artifact may not have; and the errors of the store.
func Write(ctx context.Context, to Store, w *Writing) (parley.ArtifactVersion, bool, error) {
	if w.Idempotency.Key != "" {
		if _, err := to.Artifact(ctx, w.Scope, w.ArtifactID); err != nil { // a key says nothing to others
			return parley.ArtifactVersion{}, false, err
		}
		earlier, err := to.WrittenVersion(ctx, w.Scope.WorkspaceID, w.ArtifactID, w.Idempotency)
		if err != nil || earlier != nil {
			return parley.ValueOf(earlier), earlier != nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		made, repeat, err := w.once(ctx, to)
		var refused *parley.Error
		if attempt == attempts || !errors.As(err, &refused) || refused.Stale == nil || w.Base != 0 && !w.Merge ||
			refused.Field != "" { // a conflict of places
			return made, repeat, err
		}
	}
}

func (w *Writing) once(ctx context.Context, to Store) (none parley.ArtifactVersion, _ bool, _ error) {
	a, err := to.Artifact(ctx, w.Scope, w.ArtifactID)
	if err != nil {
		return none, false, err
	}
	base := w.Base
	if base == 0 {
		base = a.Version
	}
	switch {
	case base < 1 || base > a.Newest:
		return none, false, parley.InvalidField(
			"base_version",
			"there is no version %d; the newest is %d",
			base,
			a.Newest,
		)
	case base != a.Version && (!w.Merge || a.Kind == parley.ArtifactFile): // bytes are never merged
		return none, false, parley.StaleVersion(base, a.Version)
	}
	chain, newest, on, err := read(ctx, to, a.WorkspaceID, a.ContentHash)
	if err != nil {
		return none, false, err
	}
	began := newest
	if base != a.Version {
		if began, err = Content(ctx, to, w.Scope, a.ID, base); err != nil {
			return none, false, err
		}
	}
	content, err := w.changed(ctx, to, &a, base, began, newest)
	if err != nil {
		return none, false, err
	}
	version := w.Version
	version.ArtifactID, version.WorkspaceID = a.ID, a.WorkspaceID
	version.Base, version.Parent, version.RestoredFrom = base, a.Version, w.Restore
	version.MediaType = mediaType(&a, content)
	return to.WriteArtifact(ctx, store.NewArtifactVersion{
		Version: version, Content: pack(chain, on, content), Edit: w.Edit, MaxStorage: w.MaxStorage,
		Idempotency: w.Idempotency,
	})
}

// changed returns the content of the next version.
func (w *Writing) changed(
	ctx context.Context, to Store, a *parley.Artifact, base int, began, newest []byte,
) ([]byte, error) {
	content, err := w.apply(ctx, to, a, began)
	if err == nil && base != a.Version {
		content, err = merge(a, base, began, content, newest)
	}
	if err != nil {
		return nil, err
	}
	return check(ctx, a, content)
}

// apply returns what the change makes of the content that it began with.
func (w *Writing) apply(ctx context.Context, to Store, a *parley.Artifact, began []byte) ([]byte, error) {
	switch {
	case w.Restore != 0:
		return Content(ctx, to, w.Scope, a.ID, w.Restore)
	case a.Kind == parley.ArtifactFile && (w.Patch != nil || w.Edits != nil):
		return nil, parley.InvalidField("content", "a file is only written whole")
	case w.Patch != nil && a.Kind != parley.ArtifactJSON:
		return nil, parley.InvalidField("patch", "only a json artifact takes one; use edits")
	case w.Patch != nil:
		return document.ApplyPatch(began, w.Patch)
	case w.Edits != nil && a.Kind == parley.ArtifactJSON:
		return nil, parley.InvalidField("edits", "a json artifact takes a patch instead")
	case w.Edits != nil:
		text, err := document.ApplyEdits(string(began), w.Edits)
		return []byte(text), err
	}
	return w.Content, nil
}

// merge joins a change of a version with what later versions made of it. A conflict of places is CodeConflict with
// Stale and with Field.
func merge(a *parley.Artifact, base int, began, ours, theirs []byte) (merged []byte, err error) {
	var conflicts []document.Conflict
	if a.Kind == parley.ArtifactJSON {
		merged, conflicts, err = document.MergeJSON(began, ours, theirs)
	} else {
		var text string
		text, conflicts, err = document.MergeText(string(began), string(ours), string(theirs))
		merged = []byte(text)
	}
	if err != nil || len(conflicts) == 0 {
		return merged, err
	}
	stale := parley.StaleVersion(base, a.Version)
	stale.Field = "content"
	stale.Message = fmt.Sprintf("Your change of version %d and version %d touch the same places (%s), so they cannot "+
		"be merged. Read the difference, and write again from version %d.",
		base, a.Version, places(conflicts), a.Version)
	return nil, stale
}

// shownPlaces is how many places of a conflict its sentence names.
const shownPlaces = 3

func places(conflicts []document.Conflict) string {
	var out bytes.Buffer
	for i := range conflicts {
		if i > 0 {
			out.WriteString(", ")
		}
		if i == shownPlaces {
			out.WriteString("and others")
			break
		}
		if path := conflicts[i].Path; path != nil {
			fmt.Fprintf(&out, "%q", parley.Clip(*path, 64))
		} else {
			fmt.Fprintf(&out, "line %d", conflicts[i].Line)
		}
	}
	return out.String()
}

// maxWrong bounds what a refusal says of a schema, in bytes.
const maxWrong = 500

// check returns content as it is stored: JSON without white space around its values. It refuses content that the
// artifact may not have.
func check(ctx context.Context, a *parley.Artifact, content []byte) ([]byte, error) {
	if err := a.CheckContent(content); err != nil || a.Kind != parley.ArtifactJSON {
		return content, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, content); err != nil {
		return nil, parley.InvalidField("content", "is not valid JSON")
	}
	if a.Schema == nil {
		return compact.Bytes(), nil
	}
	wanted, err := schema.Read(a.Schema)
	if err != nil {
		return nil, parley.InvalidField("schema", "%s", err)
	}
	wrong, err := wanted.Violation(ctx, compact.Bytes())
	switch {
	case errors.Is(err, schema.ErrBudget):
		return nil, parley.InvalidField("content", "%s", err)
	case err == nil && wrong != "":
		return nil, parley.InvalidField("content", "does not satisfy the artifact's schema: %s",
			parley.Clip(wrong, maxWrong))
	}
	return compact.Bytes(), err
}

// mediaType detects what the bytes of a file are; "" for other kinds.
func mediaType(a *parley.Artifact, content []byte) string {
	if a.Kind != parley.ArtifactFile {
		return ""
	}
	return upload.TypeOf(content)
}

// Content reads the bytes of a version.
func Content(ctx context.Context, from Reader, scope store.Scope, id parley.ID, number int) ([]byte, error) {
	version, err := from.ArtifactVersion(ctx, scope, id, number)
	if err != nil {
		return nil, err
	}
	_, content, _, err := read(ctx, from, version.WorkspaceID, version.ContentHash)
	return content, err
}

// Holds reports whether bytes are a version of an artifact that the scope sees, apart from white space between the
// values of JSON.
func Holds(ctx context.Context, from Versions, scope store.Scope, a *parley.Artifact, data []byte) (bool, error) {
	if a.Kind == parley.ArtifactJSON {
		var compact bytes.Buffer
		if !json.Valid(data) {
			return false, nil
		}
		if err := json.Compact(&compact, data); err != nil {
			return false, err
		}
		data = compact.Bytes()
	}
	found, err := from.ArtifactVersions(ctx, scope, a.ID, store.ArtifactVersionQuery{
		ContentHash: parley.HashOf(data), Limit: 1,
	})
	return len(found) > 0, err
}

// Pack checks content that is to become a version of an artifact, and packs it on the version that it replaces; base 0
// packs it on nothing. Errors are CodeInvalid and CodeTooLarge for the content, and those of the store.
func Pack(
	ctx context.Context, from Reader, a *parley.Artifact, base int, content []byte,
) (packed store.ArtifactContent, err error) {
	if content, err = check(ctx, a, content); err != nil {
		return packed, err
	}
	var chain []store.ArtifactContent
	var on []byte
	if base > 0 {
		version, err := from.ArtifactVersion(ctx, store.Scope{WorkspaceID: a.WorkspaceID}, a.ID, base)
		if err != nil {
			return packed, err
		}
		if chain, _, on, err = read(ctx, from, a.WorkspaceID, version.ContentHash); err != nil {
			return packed, err
		}
	}
	return pack(chain, on, content), nil
}

// span is after how many versions a content is kept on nothing. Between, each content has a position, and is a patch on
// the one at that position without its lowest bit, as in skip lists: 7 is on 6, which is on 4, which is on 0. So at
// most six patches make a content, and small changes of a large document take little more room than the changes.
const span = 64

// read unpacks a content. next is the content in its chain that the next one is a patch on.
func read(
	ctx context.Context,
	from Reader,
	workspaceID parley.ID,
	hash parley.Hash,
) (chain []store.ArtifactContent, content, next []byte, err error) {
	if chain, err = from.ArtifactContent(ctx, workspaceID, hash); err != nil {
		return nil, nil, nil, err
	}
	for i := range chain {
		if i > 0 && chain[i].BaseHash != chain[i-1].Hash || i == 0 && !chain[i].BaseHash.IsZero() {
			return nil, nil, nil, errDamaged
		}
		if content, err = document.Unpack(content, chain[i].Patch); err != nil {
			return nil, nil, nil, fmt.Errorf("artifact: content %s: %w", chain[i].Hash, err)
		}
		if chain[i].Position == nextOn(chain) {
			next = content
		}
	}
	if parley.HashOf(content) != hash {
		return nil, nil, nil, errDamaged
	}
	return chain, content, next, nil
}

// nextOn is the position of the content in a chain that the next one is a patch on.
func nextOn(chain []store.ArtifactContent) int {
	last := chain[len(chain)-1].Position
	return last & (last + 1)
}

// errDamaged reports stored patches that do not make the content that their hash names.
var errDamaged = errors.New("artifact: a stored content is damaged")

// pack returns content as it is stored behind the chain of the version that it follows; on is the content of the chain
// that it is a patch on.
func pack(chain []store.ArtifactContent, on, content []byte) store.ArtifactContent {
	packed := store.ArtifactContent{Hash: parley.HashOf(content), Bytes: int64(len(content))}
	if len(chain) > 0 && chain[len(chain)-1].Position+1 < span {
		base := slices.IndexFunc(chain, func(c store.ArtifactContent) bool { return c.Position == nextOn(chain) })
		packed.Position = chain[len(chain)-1].Position + 1
		packed.BaseHash, packed.Patch = chain[base].Hash, document.Pack(on, content)
		if clearlySmaller(packed.Patch, &chain[0], content) {
			return packed
		}
	}
	whole := document.Pack(nil, content)
	if packed.BaseHash.IsZero() || 2*len(packed.Patch) >= len(whole) {
		packed.BaseHash, packed.Position, packed.Patch = parley.Hash{}, 0, whole
	}
	return packed
}

// clearlySmaller reports whether a patch is far below half of what content would take by itself, if it compresses like
// the whole content that its chain begins with: compressing a large document only to compare would be most of the work
// of a small change.
func clearlySmaller(patch []byte, whole *store.ArtifactContent, content []byte) bool {
	return whole.Bytes > 0 && int64(len(patch)) < int64(len(whole.Patch))*int64(len(content))/whole.Bytes/4
}
