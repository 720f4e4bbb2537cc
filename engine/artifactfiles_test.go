package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/projectdir"
	"example.org/parley/internal/sqlitetest"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// noAudit is a store that writes no entry by itself, as on a full disk.
type noAudit struct{ *sqlite.Store }

var errNoAudit = errors.New("the disk is full")

func (noAudit) AppendAudit(context.Context, []parley.AuditEntry) error { return errNoAudit }

// TestAnExportIsAuditedBeforeTheFileChanges: without its entry, an export changes no file; and without configured roots
// only the machine's own user exports and imports.
func TestAnExportIsAuditedBeforeTheFileChanges(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlitetest.Dir(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	workspace, err := db.Workspace(t.Context(), parley.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := db.LocalOwner(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	within, err := projectdir.New(projectdir.Options{Roots: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	over := func(s engine.Store, policy *projectdir.Policy) *engine.Engine {
		return engine.New(engine.Options{Store: s, Projects: policy})
	}
	able := over(db, within)
	project, _, err := able.ChooseProject(t.Context(), owner, engine.ProjectInput{Path: root})
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := able.CreateArtifact(t.Context(), owner, engine.ArtifactInput{
		ProjectID: project.ID, Kind: parley.ArtifactText, Name: "n", Content: json.RawMessage(`"text"`),
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "n.txt")
	if _, err := over(noAudit{db}, within).ExportArtifact(
		t.Context(), owner, a.ID, engine.ArtifactExportInput{Path: "n.txt"}); !errors.Is(err, errNoAudit) {
		t.Errorf("an export without its entry: %v", err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	remote := owner
	remote.Local = false
	anywhere := over(db, projectdir.Home())
	if _, err := anywhere.ExportArtifact(
		t.Context(),
		remote,
		a.ID,
		engine.ArtifactExportInput{Path: "n.txt"},
	); parley.ErrorCode(
		err,
	) !=
		parley.CodeForbidden {
		t.Errorf("an export without roots: %v", err)
	}
	if _, err := able.ExportArtifact(t.Context(), remote, a.ID, engine.ArtifactExportInput{Path: "n.txt"}); err != nil {
		t.Errorf("an export with roots: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "text" { //nolint:gosec // of this test
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, _, err := anywhere.ImportArtifact(t.Context(), remote, project.ID, engine.ArtifactImportInput{Path: "n.txt"},
		store.Idempotency{}); parley.ErrorCode(err) != parley.CodeForbidden {
		t.Errorf("an import without roots: %v", err)
	}
}
