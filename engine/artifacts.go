package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/document"
	"example.org/parley/internal/schema"
	"example.org/parley/store"
)

// ArtifactInput is a new artifact with its first version.
type ArtifactInput struct {
	ProjectID  parley.ID           `json:"project_id,omitzero" doc:"The project that it belongs to; with session_id, that of the session."`
	SessionID  parley.ID           `json:"session_id,omitzero" doc:"The session that it belongs to: it has the session's owner and visibility, and goes with it."`
	Kind       parley.ArtifactKind `json:"kind" required:"true" enum:"json,markdown,text,code,csv,html,svg,file"`
	Name       string              `json:"name" required:"true"`
	Labels     []string            `json:"labels,omitempty"`
	Schema     json.RawMessage     `json:"schema,omitempty" doc:"Of a json artifact: the JSON Schema that every version satisfies."`
	Visibility parley.Visibility   `json:"visibility,omitempty" enum:"private,workspace" doc:"Who sees it, without a session. In a project everybody by default, else only its owner."`
	Content    json.RawMessage     `json:"content" required:"true" doc:"The first version: a JSON value for kind json, base64 for kind file, a string for the others."`
}

// ArtifactPatch changes an artifact: absent fields stay.
type ArtifactPatch struct {
	Name       parley.Change[string]            `json:"name,omitzero"`
	Labels     parley.Change[[]string]          `json:"labels,omitzero"`
	Visibility parley.Change[parley.Visibility] `json:"visibility,omitzero" enum:"private,workspace" doc:"Of one without a session."`
	SessionID  parley.Change[parley.ID]         `json:"session_id,omitzero" doc:"null takes it out of its session, so that it stays when the session is deleted."`
	Archived   parley.Change[bool]              `json:"archived,omitzero"`
}

// VersionInput is a new version: the whole content, edits or a patch.
type VersionInput struct {
	BaseVersion int             `json:"base_version,omitempty" minimum:"1" doc:"The version that the change began with, unless If-Match names it. Content needs one; edits and a patch apply to the newest without it."`
	Merge       bool            `json:"merge,omitempty" doc:"Join the change with later versions that do not touch the same places."`
	Content     json.RawMessage `json:"content,omitempty" doc:"The whole content: a JSON value for kind json, base64 for kind file, a string for the others."`
	Edits       []TextEditInput `json:"edits,omitempty" doc:"Passages to replace, one after the other; not for kind json."`
	Patch       []JSONEditInput `json:"patch,omitempty" doc:"A JSON Patch (RFC 6902), for kind json."`
}

// TextEditInput replaces a passage of a text.
type TextEditInput struct {
	Old string `json:"old" required:"true" doc:"The passage, exactly as it stands; it must occur once unless all is true."`
	New string `json:"new,omitempty" doc:"What takes its place; without it the passage is removed."`
	All bool   `json:"all,omitempty" doc:"Replace every occurrence."`
}

// JSONEditInput is one operation of a JSON Patch (RFC 6902).
type JSONEditInput struct {
	Op    parley.EditOp   `json:"op" required:"true" enum:"add,remove,replace,move,copy,test"`
	Path  string          `json:"path" required:"true" doc:"Where, as a JSON Pointer (RFC 6901)."`
	From  string          `json:"from,omitempty" doc:"Of move and copy: where from."`
	Value json.RawMessage `json:"value,omitempty" doc:"Of add, replace and test."`
}

// ArtifactList selects artifacts, last changed first by default.
type ArtifactList struct {
	Paging
	ProjectID parley.ID
	SessionID parley.ID
	Kinds     []parley.ArtifactKind
	Label     string
	Name      string // a part of the name, in any case
	Archived  *bool
	Stale     bool // whose current version was made from what has a newer current version
}

// ArtifactDiff is the difference between two versions.
type ArtifactDiff struct {
	From      int               `json:"from"`
	To        int               `json:"to"`
	Patch     []parley.JSONEdit `json:"patch" doc:"Of a json artifact: the JSON Patch (RFC 6902) that makes to of from; null for others."`
	Hunks     []parley.TextHunk `json:"hunks" doc:"Of a text: the changed lines with those around them; null for json and file."`
	Files     []FileVersion     `json:"files" doc:"Of kind file: what each of the two versions is; null for others."`
	Truncated bool              `json:"truncated" doc:"Whether hunks leave out changes because there are too many."`
}

// FileVersion says what a version of a file is, since its bytes are not compared.
type FileVersion struct {
	Version     int         `json:"version"`
	MediaType   string      `json:"media_type"`
	Bytes       int64       `json:"size" doc:"Bytes."`
	ContentHash parley.Hash `json:"content_hash" doc:"SHA-256 of the bytes."`
}

// ArtifactContent is the bytes of a version.
type ArtifactContent struct {
	Artifact parley.Artifact
	Version  parley.ArtifactVersion
	Bytes    []byte
}

// CreateArtifact stores an artifact with its first version. The bool reports an idempotent repeat.
func (e *Engine) CreateArtifact(
	ctx context.Context,
	principal parley.Principal,
	input ArtifactInput,
	idempotency store.Idempotency,
) (parley.Artifact, bool, error) {
	return e.createArtifact(ctx, principal, &input, parley.EditCreated, idempotency)
}

// createArtifact creates an artifact by an edit of a name.
func (e *Engine) createArtifact(
	ctx context.Context,
	principal parley.Principal,
	input *ArtifactInput,
	edit string,
	idempotency store.Idempotency,
) (_ parley.Artifact, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "createArtifact", WriteArtifacts)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.Artifact{}, false, err
	}
	a := parley.Artifact{
		ID: parley.NewID(), WorkspaceID: principal.WorkspaceID, OwnerID: principal.ID, ProjectID: input.ProjectID,
		SessionID: input.SessionID, Kind: input.Kind, Name: strings.TrimSpace(input.Name), Schema: input.Schema,
		Visibility: input.Visibility,
	}
	if bytes.Equal(a.Schema, []byte("null")) {
		a.Schema = nil
	}
	if a.Labels, err = labels(input.Labels); err != nil {
		return parley.Artifact{}, false, err
	}
	if err := e.placeArtifact(ctx, call, &a); err != nil {
		return parley.Artifact{}, false, err
	}
	if err := a.Validate(); err != nil {
		return parley.Artifact{}, false, err
	}
	if a.Schema != nil {
		if _, err := schema.Read(a.Schema); err != nil {
			return parley.Artifact{}, false, parley.InvalidField("schema", "%s", err)
		}
	}
	content, err := contentOf(a.Kind, input.Content)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	leave, err := e.documents.Enter(ctx, &a, len(content))
	if err != nil {
		return parley.Artifact{}, false, err
	}
	defer leave()
	made, repeat, err := artifact.Create(ctx, e.store, store.NewArtifact{
		Artifact: a, Version: parley.ArtifactVersion{Author: principal.Author()},
		Edit: store.Edit{ID: parley.NewID(), Name: edit}, MaxStorage: e.quotas.storage, Idempotency: idempotency,
	}, content)
	if err == nil {
		call.about(in(made.SessionID, made.ID))
	}
	return made, repeat, err
}

// placeArtifact finds the session or the project of a new artifact, and who sees it there.
func (e *Engine) placeArtifact(ctx context.Context, call verbCall, a *parley.Artifact) error {
	if a.SessionID.IsZero() {
		if a.Visibility == "" && a.ProjectID.IsZero() {
			a.Visibility = parley.VisibilityPrivate
		} else if a.Visibility == "" {
			a.Visibility = parley.VisibilityWorkspace
		}
		return nil
	}
	if a.Visibility != "" {
		return parley.InvalidField("visibility", "is the session's; leave it out")
	}
	session, err := e.store.Session(ctx, call.Scope, a.SessionID)
	if err != nil {
		return err
	}
	if !a.ProjectID.IsZero() && a.ProjectID != session.ProjectID {
		return parley.InvalidField("project_id", "is not the project of the session; leave it out")
	}
	a.ProjectID, a.Visibility = session.ProjectID, session.Visibility
	return nil
}

// labels trims labels and drops repeats.
func labels(given []string) ([]string, error) {
	if len(given) > parley.MaxArtifactLabels {
		return nil, parley.InvalidField("labels", "at most %d labels", parley.MaxArtifactLabels)
	}
	kept := []string{}
	for _, label := range given {
		if label = strings.TrimSpace(label); label != "" && !slices.Contains(kept, label) {
			kept = append(kept, label)
		}
	}
	return kept, nil
}

// contentOf returns the bytes of a content as the API takes it.
func contentOf(kind parley.ArtifactKind, given json.RawMessage) ([]byte, error) {
	if kind == parley.ArtifactJSON {
		if len(given) == 0 {
			return nil, parley.InvalidField("content", "is missing")
		}
		return given, nil
	}
	var text *string
	if json.Unmarshal(given, &text) != nil || text == nil {
		return nil, parley.InvalidField("content", "must be a string, because the artifact is not of kind json")
	}
	if kind != parley.ArtifactFile {
		return []byte(*text), nil
	}
	data, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return nil, parley.InvalidField("content", "must be the bytes in base64, because the artifact is of kind file")
	}
	return data, nil
}

// Artifact reads an artifact, without its content.
func (e *Engine) Artifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Artifact, err error) {
	ctx, call, err := e.enter(ctx, principal, "getArtifact", ReadArtifacts, on(id))
	if err != nil {
		return parley.Artifact{}, err
	}
	defer call.end(ctx, &err)
	return e.store.Artifact(ctx, call.Scope, id)
}

// Artifacts lists artifacts, last changed first by default.
func (e *Engine) Artifacts(
	ctx context.Context,
	principal parley.Principal,
	list ArtifactList,
) (_ Page[parley.Artifact], err error) {
	ctx, call, err := e.enter(ctx, principal, "listArtifacts", ReadArtifacts)
	if err != nil {
		return Page[parley.Artifact]{}, err
	}
	defer call.end(ctx, &err)
	if err := oneOfEach("kind", list.Kinds, parley.ArtifactKinds()); err != nil {
		return Page[parley.Artifact]{}, err
	}
	if err := checkTexts(
		textBound{"label", list.Label, parley.MaxNameBytes},
		textBound{"name", list.Name, parley.MaxNameBytes},
	); err != nil {
		return Page[parley.Artifact]{}, err
	}
	from, order, limit, err := list.start("artifacts", Descending)
	if err != nil {
		return Page[parley.Artifact]{}, err
	}
	if !list.ProjectID.IsZero() {
		if _, err := e.store.Project(ctx, call.Scope.WorkspaceID, list.ProjectID); err != nil {
			return Page[parley.Artifact]{}, err
		}
	}
	rows, err := e.store.Artifacts(ctx, call.Scope, store.ArtifactQuery{
		ProjectID: list.ProjectID, SessionID: list.SessionID, Kinds: list.Kinds, Label: list.Label,
		Name: strings.ToLower(list.Name), Archived: list.Archived, Stale: list.Stale, Ascending: order == Ascending,
		AfterUpdated: from.At, AfterID: from.ID, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.Artifact]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Artifact) cursor {
		return cursor{List: "artifacts", Order: order, At: last.UpdatedAt, ID: last.ID}
	}), nil
}

// UpdateArtifact renames, labels, shares or archives an artifact.
func (e *Engine) UpdateArtifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch ArtifactPatch,
) (_ parley.Artifact, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateArtifact", WriteArtifacts, on(id))
	if err != nil {
		return parley.Artifact{}, err
	}
	defer call.end(ctx, &err)
	for attempt := 1; ; attempt++ {
		a, err := e.store.Artifact(ctx, call.Scope, id)
		if err != nil {
			return parley.Artifact{}, err
		}
		if patch.Visibility.Set || patch.SessionID.Set {
			if err := ownsArtifact(principal, &a); err != nil {
				return parley.Artifact{}, err
			}
		}
		changed := a
		if err := patch.over(&changed); err != nil {
			return parley.Artifact{}, err
		}
		if sameArtifact(&a, &changed) {
			return a, nil
		}
		changed, err = e.store.UpdateArtifact(ctx, changed)
		if err == nil || parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts {
			return changed, err
		}
	}
}

// over applies the patch.
func (p *ArtifactPatch) over(a *parley.Artifact) (err error) {
	if p.Name.Set {
		a.Name = strings.TrimSpace(p.Name.Value)
	}
	if p.Labels.Set {
		if a.Labels, err = labels(p.Labels.Value); err != nil {
			return err
		}
	}
	if p.SessionID.Set {
		if !p.SessionID.Value.IsZero() && p.SessionID.Value != a.SessionID {
			return parley.InvalidField("session_id", "can only be null, which takes the artifact out of its session")
		}
		a.SessionID = p.SessionID.Value
	}
	if p.Visibility.Set {
		if !a.SessionID.IsZero() && p.Visibility.Value != a.Visibility {
			return parley.InvalidField("visibility", "is the session's; change it there")
		}
		a.Visibility = p.Visibility.Value
	}
	if p.Archived.Set {
		switch {
		case !p.Archived.Value:
			a.ArchivedAt = 0
		case a.ArchivedAt == 0:
			a.ArchivedAt = parley.Now()
		}
	}
	return a.Validate()
}

func sameArtifact(a, b *parley.Artifact) bool {
	return a.Name == b.Name && slices.Equal(a.Labels, b.Labels) && a.Visibility == b.Visibility &&
		a.SessionID == b.SessionID && a.ArchivedAt == b.ArchivedAt
}

// ownsArtifact refuses what only an artifact's owner or an admin may do.
func ownsArtifact(principal parley.Principal, a *parley.Artifact) error {
	if ReachOf(principal.Role, DropArtifacts) == ReachAll || a.OwnerID == principal.ID {
		return nil
	}
	return parley.Errorf(parley.CodeForbidden, "Only the artifact's owner or an admin may do this.")
}

// DeleteArtifact removes an artifact with all its versions.
func (e *Engine) DeleteArtifact(ctx context.Context, principal parley.Principal, id parley.ID) (err error) {
	ctx, call, err := e.enter(ctx, principal, "deleteArtifact", DropArtifacts, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	a, err := e.store.Artifact(ctx, call.Scope, id)
	if err != nil {
		return err
	}
	if err := ownsArtifact(principal, &a); err != nil {
		return err
	}
	return e.store.DeleteArtifact(ctx, call.Scope, id)
}

// WriteArtifact adds a version to an artifact. The bool reports an idempotent repeat.
func (e *Engine) WriteArtifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input VersionInput,
	idempotency store.Idempotency,
) (parley.ArtifactVersion, bool, error) {
	return e.writeArtifact(ctx, principal, id, &input, parley.EditWritten, idempotency)
}

// writeArtifact adds a version by an edit of a name.
func (e *Engine) writeArtifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input *VersionInput,
	edit string,
	idempotency store.Idempotency,
) (_ parley.ArtifactVersion, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "writeArtifactVersion", WriteArtifacts, on(id))
	if err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	a, err := e.store.Artifact(ctx, call.Scope, id)
	if err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	writing := e.writing(call, principal, id, edit, idempotency)
	writing.Base, writing.Merge = input.BaseVersion, input.Merge
	if input.Edits != nil {
		writing.Edits = []parley.TextEdit{}
	}
	for _, edit := range input.Edits {
		writing.Edits = append(writing.Edits, parley.TextEdit(edit))
	}
	if input.Patch != nil {
		writing.Patch = []parley.JSONEdit{}
	}
	for _, edit := range input.Patch {
		writing.Patch = append(writing.Patch, parley.JSONEdit(edit))
	}
	given := 0
	for _, is := range []bool{input.Content != nil, input.Edits != nil, input.Patch != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return parley.ArtifactVersion{}, false, parley.InvalidField("content",
			"give the whole content, edits or a patch, and only one of them")
	}
	if input.Content != nil {
		if input.BaseVersion == 0 {
			return parley.ArtifactVersion{}, false, parley.InvalidField("base_version",
				"is missing; name the version that you began with, so that nobody's change is lost")
		}
		if writing.Content, err = contentOf(a.Kind, input.Content); err != nil {
			return parley.ArtifactVersion{}, false, err
		}
	}
	size := len(input.Content)
	for i := range input.Edits {
		size += len(input.Edits[i].New)
	}
	for i := range input.Patch {
		size += len(input.Patch[i].Value)
	}
	leave, err := e.documents.Enter(ctx, &a, size, input.BaseVersion)
	if err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	defer leave()
	return artifact.Write(ctx, e.store, writing)
}

// writing is a change by hand, of which an edit of a name is stored with the version.
func (e *Engine) writing(
	call verbCall,
	principal parley.Principal,
	id parley.ID,
	edit string,
	idempotency store.Idempotency,
) *artifact.Writing {
	return &artifact.Writing{
		Scope: call.Scope, ArtifactID: id, Version: parley.ArtifactVersion{Author: principal.Author()},
		Edit: store.Edit{ID: parley.NewID(), Name: edit}, MaxStorage: e.quotas.storage, Idempotency: idempotency,
	}
}

// RestoreArtifact writes the content of an earlier version as a new one. The bool reports an idempotent repeat.
func (e *Engine) RestoreArtifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	number int,
	idempotency store.Idempotency,
) (_ parley.ArtifactVersion, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "restoreArtifactVersion", WriteArtifacts, on(id))
	if err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	a, err := e.store.Artifact(ctx, call.Scope, id)
	if err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	leave, err := e.documents.Enter(ctx, &a, 0, number)
	if err != nil {
		return parley.ArtifactVersion{}, false, err
	}
	defer leave()
	writing := e.writing(call, principal, id, parley.EditRestored, idempotency)
	writing.Restore = number
	return artifact.Write(ctx, e.store, writing)
}

// ArtifactVersion reads a version of an artifact.
func (e *Engine) ArtifactVersion(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	number int,
) (_ parley.ArtifactVersion, err error) {
	ctx, call, err := e.enter(ctx, principal, "getArtifactVersion", ReadArtifacts, on(id))
	if err != nil {
		return parley.ArtifactVersion{}, err
	}
	defer call.end(ctx, &err)
	return e.store.ArtifactVersion(ctx, call.Scope, id, number)
}

// ArtifactVersions lists the versions of an artifact, newest first by default.
func (e *Engine) ArtifactVersions(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	list Paging,
) (_ Page[parley.ArtifactVersion], err error) {
	ctx, call, err := e.enter(ctx, principal, "listArtifactVersions", ReadArtifacts, on(id))
	if err != nil {
		return Page[parley.ArtifactVersion]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := list.start("artifact_versions", Descending)
	if err != nil {
		return Page[parley.ArtifactVersion]{}, err
	}
	rows, err := e.store.ArtifactVersions(ctx, call.Scope, id, store.ArtifactVersionQuery{
		Ascending: order == Ascending, After: int(from.Sequence), Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.ArtifactVersion]{}, err
	}
	return pageOf(rows, limit, func(last parley.ArtifactVersion) cursor {
		return cursor{List: "artifact_versions", Order: order, Sequence: int64(last.Number)}
	}), nil
}

// ArtifactContent reads the bytes of a version; number 0 is the newest.
func (e *Engine) ArtifactContent(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	number int,
) (_ ArtifactContent, err error) {
	ctx, call, err := e.enter(ctx, principal, "getArtifactContent", ReadArtifacts, on(id))
	if err != nil {
		return ArtifactContent{}, err
	}
	defer call.end(ctx, &err)
	a, err := e.store.Artifact(ctx, call.Scope, id)
	if err != nil {
		return ArtifactContent{}, err
	}
	if number == 0 {
		number = a.Version
	}
	version, err := e.store.ArtifactVersion(ctx, call.Scope, id, number)
	if err != nil {
		return ArtifactContent{}, err
	}
	content, err := artifact.Content(ctx, e.store, call.Scope, id, number)
	return ArtifactContent{a, version, content}, err
}

// DiffArtifact compares two versions. to 0 is the newest; from 0 is the parent of to, which shows the change that made
// it.
func (e *Engine) DiffArtifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	from, to int,
) (_ ArtifactDiff, err error) {
	ctx, call, err := e.enter(ctx, principal, "diffArtifact", ReadArtifacts, on(id))
	if err != nil {
		return ArtifactDiff{}, err
	}
	defer call.end(ctx, &err)
	a, err := e.store.Artifact(ctx, call.Scope, id)
	if err != nil {
		return ArtifactDiff{}, err
	}
	if to == 0 {
		to = a.Version
	}
	if from == 0 {
		version, err := e.store.ArtifactVersion(ctx, call.Scope, id, to)
		if err != nil {
			return ArtifactDiff{}, err
		}
		from = max(version.Parent, 1)
	}
	if a.Kind == parley.ArtifactFile {
		return e.diffFiles(ctx, call.Scope, id, from, to)
	}
	leave, err := e.documents.Enter(ctx, &a, 0, from, to)
	if err != nil {
		return ArtifactDiff{}, err
	}
	defer leave()
	diff := ArtifactDiff{From: from, To: to}
	before, err := artifact.Content(ctx, e.store, call.Scope, id, from)
	if err != nil {
		return ArtifactDiff{}, err
	}
	after, err := artifact.Content(ctx, e.store, call.Scope, id, to)
	if err != nil {
		return ArtifactDiff{}, err
	}
	if a.Kind == parley.ArtifactJSON {
		diff.Patch, err = document.DiffJSON(before, after)
	} else {
		diff.Hunks, diff.Truncated = document.DiffText(string(before), string(after))
	}
	return diff, err
}

// diffFiles says what two versions of a file are.
func (e *Engine) diffFiles(ctx context.Context, scope store.Scope, id parley.ID, from, to int) (ArtifactDiff, error) {
	diff := ArtifactDiff{From: from, To: to}
	for _, number := range []int{from, to} {
		v, err := e.store.ArtifactVersion(ctx, scope, id, number)
		if err != nil {
			return ArtifactDiff{}, err
		}
		diff.Files = append(diff.Files, FileVersion{v.Number, v.MediaType, v.Bytes, v.ContentHash})
	}
	return diff, nil
}
