package engine

import (
	"context"
	"io"
	"os"
	"path"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/projectdir"
	"example.org/parley/store"
)

// Artifacts go to files of their project's directory and come from there, by the rules of the file tools
// (package projectdir). Who may choose directories for projects may do both.

// ArtifactExportInput says where a version of an artifact is written.
type ArtifactExportInput struct {
	Path      string `json:"path" required:"true" doc:"The file, relative to the project's directory; missing directories are created."`
	Version   int    `json:"version,omitempty" minimum:"1" doc:"The newest by default."`
	Overwrite bool   `json:"overwrite,omitempty" doc:"Replace the file whatever it holds. Otherwise it is replaced only if it holds a version of this artifact, as after an earlier export."`
}

// ArtifactExport is a version of an artifact in a file.
type ArtifactExport struct {
	ArtifactID  parley.ID   `json:"artifact_id"`
	ProjectID   parley.ID   `json:"project_id"`
	Version     int         `json:"version"`
	Path        string      `json:"path" doc:"Relative to the project's directory."`
	Bytes       int64       `json:"size" doc:"Bytes."`
	ContentHash parley.Hash `json:"content_hash" doc:"SHA-256 of the bytes."`
	Created     bool        `json:"created" doc:"Whether the file is new."`
}

// ArtifactImportInput says which file becomes an artifact, or a version of one.
type ArtifactImportInput struct {
	Path       string              `json:"path" required:"true" doc:"The file, relative to the project's directory."`
	ArtifactID parley.ID           `json:"artifact_id,omitzero" doc:"An artifact of the project that gets a new version; a new artifact is made without it."`
	Base       int                 `json:"base_version,omitempty" minimum:"1" doc:"With artifact_id, and needed there: the version that the file was made from."`
	Merge      bool                `json:"merge,omitempty" doc:"With artifact_id: join the changes with later versions that do not touch the same places."`
	Kind       parley.ArtifactKind `json:"kind,omitempty" enum:"json,markdown,text,code,csv,html,svg,file" doc:"Of a new artifact; by the name and the bytes of the file by default."`
	Name       string              `json:"name,omitempty" doc:"Of a new artifact; the file's by default."`
	Labels     []string            `json:"labels,omitempty" doc:"Of a new artifact."`
	Visibility parley.Visibility   `json:"visibility,omitempty" enum:"private,workspace" doc:"Of a new artifact; the workspace sees it by default."`
}

// ExportArtifact writes a version of an artifact to a file of its project's directory. CodeConflict for an artifact
// without a project, and for a file that holds something else than a version of the artifact.
func (e *Engine) ExportArtifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input ArtifactExportInput,
) (_ ArtifactExport, err error) {
	ctx, call, err := e.enter(ctx, principal, "exportArtifact", WriteArtifacts, on(id))
	if err != nil {
		return ArtifactExport{}, err
	}
	defer call.end(ctx, &err)
	content, err := e.ArtifactContent(ctx, principal, id, input.Version)
	if err != nil {
		return ArtifactExport{}, err
	}
	a := &content.Artifact
	if a.ProjectID.IsZero() {
		return ArtifactExport{}, parley.Errorf(
			parley.CodeConflict,
			"This artifact belongs to no project, so it has no directory.",
		)
	}
	call.about(in(a.SessionID, id))
	tree, name, err := e.openProject(ctx, principal, a.ProjectID, input.Path)
	if err != nil {
		return ArtifactExport{}, err
	}
	defer func() { _ = tree.Close() }() // the written file is closed separately
	created, err := tree.ReplaceIf(name, content.Bytes, func(there *os.File) error {
		if there != nil && !input.Overwrite {
			if err := e.exported(ctx, call.Scope, a, name, there); err != nil {
				return err
			}
		}
		return call.record(ctx) // before the file changes
	})
	return ArtifactExport{
		a.ID, a.ProjectID, content.Version.Number, name, content.Version.Bytes, content.Version.ContentHash, created,
	}, err
}

// exported refuses to replace a file that holds no version of the artifact.
func (e *Engine) exported(
	ctx context.Context, scope store.Scope, a *parley.Artifact, name string, there *os.File,
) error {
	data, err := readFile(name, there)
	if err != nil && parley.ErrorCode(err) != parley.CodeTooLarge { // no version is that large
		return err
	}
	if err == nil {
		held, err := artifact.Holds(ctx, e.store, scope, a, data)
		if err != nil || held {
			return err
		}
	}
	return parley.Errorf(parley.CodeConflict, "%q holds something else than a version of this artifact. Import it "+
		"first, or replace it with overwrite.", parley.Clip(name, 128))
}

// ImportArtifact makes an artifact, or a version of one, of a file in a project's directory. The bool reports an
// idempotent repeat.
func (e *Engine) ImportArtifact(
	ctx context.Context,
	principal parley.Principal,
	projectID parley.ID,
	input ArtifactImportInput,
	idempotency store.Idempotency,
) (_ parley.Artifact, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "importArtifact", WriteArtifacts, on(projectID))
	if err != nil {
		return parley.Artifact{}, false, err
	}
	defer call.end(ctx, &err)
	tree, name, err := e.openProject(ctx, principal, projectID, input.Path)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	defer func() { _ = tree.Close() }() // read only
	file, err := tree.Open(name)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	defer func() { _ = file.Close() }() // read only
	data, err := readFile(name, file)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	if !input.ArtifactID.IsZero() {
		return e.importVersion(ctx, call, principal, projectID, &input, data, idempotency)
	}
	if input.Base != 0 || input.Merge {
		return parley.Artifact{}, false, parley.InvalidField("base_version", "and merge need artifact_id")
	}
	if input.Kind == "" {
		input.Kind = parley.KindOfFile(name, data)
	}
	content, err := parley.EncodeDocument(input.Kind, data)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	if strings.TrimSpace(input.Name) == "" {
		input.Name = parley.Clip(path.Base(name), parley.MaxNameBytes-len("…"))
	}
	return e.createArtifact(ctx, principal, &ArtifactInput{
		ProjectID: projectID, Kind: input.Kind, Name: input.Name, Labels: input.Labels, Visibility: input.Visibility,
		Content: content,
	}, parley.EditImported, idempotency)
}

// importVersion writes a file as a version of an artifact of the project.
func (e *Engine) importVersion(
	ctx context.Context,
	call verbCall,
	principal parley.Principal,
	projectID parley.ID,
	input *ArtifactImportInput,
	data []byte,
	idempotency store.Idempotency,
) (parley.Artifact, bool, error) {
	if input.Kind != "" || input.Name != "" || input.Labels != nil || input.Visibility != "" {
		return parley.Artifact{}, false, parley.InvalidField("artifact_id",
			"has its kind, name, labels and visibility; leave them out")
	}
	a, err := e.store.Artifact(ctx, call.Scope, input.ArtifactID)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	if a.ProjectID != projectID {
		return parley.Artifact{}, false, parley.Errorf(parley.CodeNotFound, "The project has no such artifact.")
	}
	content, err := parley.EncodeDocument(a.Kind, data)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	call.about(in(a.SessionID, a.ID))
	_, repeat, err := e.writeArtifact(ctx, principal, a.ID, &VersionInput{
		BaseVersion: input.Base, Merge: input.Merge, Content: content,
	}, parley.EditImported, idempotency)
	if err != nil {
		return parley.Artifact{}, false, err
	}
	a, err = e.store.Artifact(ctx, call.Scope, a.ID)
	return a, repeat, err
}

// openProject opens the directory of a project for a principal who may choose directories, and checks a path in it.
func (e *Engine) openProject(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	given string,
) (tree *projectdir.Tree, name string, err error) {
	if _, err := authorise(principal, WriteProjects); err != nil {
		return nil, "", err
	}
	if err := e.mayChoose(principal); err != nil {
		return nil, "", err
	}
	if name, err = projectdir.Inside(given); err != nil {
		return nil, "", err
	}
	project, err := e.store.Project(ctx, principal.WorkspaceID, id)
	if err != nil {
		return nil, "", err
	}
	tree, err = e.projects.Open(project.Path)
	return tree, name, err
}

// readFile reads a file that may become an artifact's content. CodeTooLarge beyond parley.MaxDocumentBytes.
func readFile(name string, file io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, parley.MaxDocumentBytes+1))
	switch {
	case err != nil:
		return nil, projectdir.FileError(name, err)
	case len(data) > parley.MaxDocumentBytes:
		return nil, parley.Errorf(parley.CodeTooLarge, "%q is longer than %d bytes, the most that an artifact holds.",
			parley.Clip(name, 128), parley.MaxDocumentBytes)
	}
	return data, nil
}
