package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// grove is an engine with one allowed root, and a directory outside it.
type grove struct {
	*engine.Engine
	house         *house
	root, outside string
}

func newGrove(t *testing.T) grove {
	t.Helper()
	h := newHouse(t, nobody)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := grove{house: h, root: filepath.Join(base, "root"), outside: filepath.Join(base, "root-not")}
	for _, path := range []string{"root/work/deep", "root/Archive", "root/.hidden", "root-not/secret"} {
		if err := os.MkdirAll(filepath.Join(base, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(g.root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"escape": g.outside, "up": "../root-not",
		"alias": filepath.Join(g.root, "work"), "near": "Archive", "nowhere": "gone", "tofile": "file",
		"loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(g.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	g.Engine = engine.New(
		engine.Options{Store: h.store, Models: models(t), Projects: policyOf(t, g.root, filepath.Join(base, "gone"))},
	)
	return g
}

func (g grove) names(t *testing.T, query engine.DirectoryQuery) []string {
	t.Helper()
	listing, err := g.Directories(t.Context(), g.house.member, query)
	if err != nil {
		t.Fatalf("Directories(%+v) = %v", query, err)
	}
	var names []string
	for _, one := range listing.Data {
		if one.Path != g.root && !strings.HasPrefix(one.Path, g.root+"/") {
			t.Errorf("%s leads to %s, outside the root", one.Name, one.Path)
		}
		names = append(names, one.Name)
	}
	return names
}

// Links are followed inside the roots only; entries that are not directories are left out.
func TestDirectoriesStayInsideTheirRoots(t *testing.T) {
	t.Parallel()
	g := newGrove(t)
	for _, one := range []struct {
		query engine.DirectoryQuery
		want  []string
	}{
		{engine.DirectoryQuery{}, []string{g.root}},
		{engine.DirectoryQuery{Path: g.root}, []string{"alias", "Archive", "near", "work"}},
		{engine.DirectoryQuery{Path: g.root + "/", Hidden: true},
			[]string{".hidden", "alias", "Archive", "near", "work"}},
		{engine.DirectoryQuery{Path: g.root, Name: "AR"}, []string{"Archive", "near"}},
		{engine.DirectoryQuery{Path: filepath.Join(g.root, "alias")}, []string{"deep"}},
		{engine.DirectoryQuery{Path: filepath.Join(g.root, "near")}, nil},
		{engine.DirectoryQuery{Path: g.root + "/work/../work"}, []string{"deep"}},
	} {
		if got := g.names(t, one.query); !slices.Equal(got, one.want) {
			t.Errorf("%+v: %q, want %q", one.query, got, one.want)
		}
	}
	for _, path := range []string{
		g.outside, filepath.Join(g.outside, "secret"), filepath.Join(g.outside, "nothing"), filepath.Dir(g.root), "/",
		filepath.Join(g.root, "escape"), filepath.Join(g.root, "escape", "secret"), filepath.Join(g.root, "up"),
		g.root + "/../root-not",
		filepath.Join(g.root, "file"), filepath.Join(g.root, "nowhere"), filepath.Join(g.root, "missing"),
		filepath.Join(g.root, "loop"),
	} {
		_, err := g.Directories(t.Context(), g.house.member, engine.DirectoryQuery{Path: path})
		wantCode(t, err, parley.CodeNotFound, "")
	}
	for _, path := range []string{"work", "./work", "~", g.root + "/\x00"} {
		_, err := g.Directories(t.Context(), g.house.member, engine.DirectoryQuery{Path: path})
		wantCode(t, err, parley.CodeInvalid, "path")
	}
	_, err := g.Directories(t.Context(), g.house.reader, engine.DirectoryQuery{})
	wantCode(t, err, parley.CodeForbidden, "")
}

// A listing says where it is, and which entries are projects of the workspace.
func TestDirectoriesKnowProjects(t *testing.T) {
	t.Parallel()
	g := newGrove(t)
	project, _, err := g.ChooseProject(
		t.Context(),
		g.house.member,
		engine.ProjectInput{Path: filepath.Join(g.root, "work")},
	)
	if err != nil {
		t.Fatal(err)
	}
	top, err := g.Directories(t.Context(), g.house.member, engine.DirectoryQuery{Path: g.root})
	if err != nil || top.Parent != nil || *top.Root != g.root || *top.Path != g.root || !top.ProjectID.IsZero() ||
		top.Truncated {
		t.Fatalf("the root: %+v, %v", top, err)
	}
	for _, one := range top.Data {
		is := one.Name == "work" || one.Name == "alias"
		if is != (one.ProjectID == project.ID) {
			t.Errorf("%s is project %s", one.Name, one.ProjectID)
		}
	}
	inside, err := g.Directories(
		t.Context(),
		g.house.member,
		engine.DirectoryQuery{Path: filepath.Join(g.root, "alias")},
	)
	if err != nil || *inside.Parent != g.root || *inside.Path != project.Path || inside.ProjectID != project.ID {
		t.Errorf("the project: %+v, %v", inside, err)
	}
}

// A listing has a bounded length, and says that there are more.
func TestDirectoriesAreBounded(t *testing.T) {
	t.Parallel()
	g := newGrove(t)
	many := filepath.Join(g.root, "many")
	for n := range engine.MaxDirectories + 1 {
		if err := os.MkdirAll(filepath.Join(many, fmt.Sprintf("d%04d", n)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listing, err := g.Directories(t.Context(), g.house.member, engine.DirectoryQuery{Path: many})
	if err != nil || len(listing.Data) != engine.MaxDirectories || !listing.Truncated ||
		listing.Data[0].Name != "d0000" {
		t.Fatalf("%d directories, truncated %t, %v", len(listing.Data), listing.Truncated, err)
	}
	last, err := g.Directories(
		t.Context(),
		g.house.member,
		engine.DirectoryQuery{Path: many, Name: fmt.Sprint(engine.MaxDirectories)},
	)
	if err != nil || len(last.Data) != 1 || last.Truncated {
		t.Errorf("by name: %+v, %v", last, err)
	}
}
