package projectdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
)

// plot makes a directory with the named subdirectories, and returns its resolved path.
func plot(t *testing.T, directories ...string) string {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, directory := range directories {
		if err := os.MkdirAll(filepath.Join(base, directory), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return base
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func policy(t *testing.T, options Options) *Policy {
	t.Helper()
	p, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A directory that contains the data directory cannot be a project; one beside it can.
func TestRootsAroundTheServersData(t *testing.T) {
	t.Parallel()
	base := plot(
		t,
		"root/parley/data/inner",
		"root/parley/site",
		"root/site",
		"root/.git/hooks",
		"root/record",
		"outside",
	)
	in := func(name string) string { return filepath.Join(base, name) }
	p := policy(
		t,
		Options{Roots: []string{in("root")}, Data: in("root/parley/data"), Closed: []string{in("root/record")}},
	)
	for name, may := range map[string]bool{
		"root": false, "root/parley": false, "root/parley/data": false, "root/parley/data/inner": false,
		"root/parley/data/none": false,
		"root/.git":             false, "root/.git/hooks": false, "root/record": false, "outside": false,
		"root/parley/site": true,
		"root/site":        true,
	} {
		if _, err := p.Resolve(in(name)); (err == nil) != may {
			t.Errorf("Resolve(%s) = %v", name, err)
		}
		tree, err := p.Open(in(name))
		if (err == nil) != may ||
			err != nil && strings.Contains(err.(*parley.Error).Message, base) { //nolint:errorlint // made here
			t.Errorf("Open(%s) = %v", name, err)
		}
		if err == nil {
			_ = tree.Close() // opened for reading
		}
	}
	roots, err := p.Roots()
	if err != nil {
		t.Fatal(err)
	}
	shown := p.Shown(roots)
	for name, want := range map[string]bool{"root": true, "root/parley": true, "root/parley/data": false,
		"root/parley/data/inner": false, "root/record": false, "root/.git": false, "outside": false} {
		if shown(in(name)) != want {
			t.Errorf("%s is shown: %t", name, !want)
		}
	}
}

// A data directory created below a project closes the project from then on.
func TestDataBelowAProjectOfLongAgo(t *testing.T) {
	t.Parallel()
	base := plot(t, "site")
	site := filepath.Join(base, "site")
	p := policy(t, Options{Roots: []string{base}, Data: filepath.Join(site, "data")})
	if err := os.Mkdir(filepath.Join(site, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(site); parley.ErrorCode(err) != parley.CodeForbidden {
		t.Errorf("a project above the data was opened: %v", err)
	}
}

func TestRootsThatCannotBe(t *testing.T) {
	t.Parallel()
	data := plot(t, "inner")
	for _, root := range []string{"/", "/etc", "/proc", "site", "", data, filepath.Join(data, "inner")} {
		if _, err := New(Options{Roots: []string{root}, Data: data}); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("the root %q: %v", root, err)
		}
	}
}

func TestHomesKeepWhatBeginsWithADot(t *testing.T) {
	t.Parallel()
	p := Anywhere()
	for path, want := range map[string]bool{
		"/home/ada/.config": true, "/home/ada/.config/x/y": true, "/home/ada/.bashrc": true, "/Users/ada/.config": true,
		"/root/.cache": true,
		"/home/ada":    false, "/home/ada/work/.github": false, "/srv/.hidden": false, "/home": false,
	} {
		if got := p.inHiddenOfHome(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

func TestSecretsByName(t *testing.T) {
	t.Parallel()
	s, err := newSecrets([]string{"*.secret", "!.env.example", "!*.pem", "private/*.txt"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/srv/a/.env": true, "/srv/a/.ENV": true, "/srv/a/.env.local": true, "/srv/a/.env.example": false,
		"/srv/a/.ssh": true, "/srv/a/.ssh/known_hosts": true,
		"/srv/.aws/x": true, "/srv/a/.e\u200bnv": true, "/srv/a/ID_RSA": true, "/srv/a/id_rsa.pub": false,
		"/srv/a/x.pem": false, "/srv/a/x.key": true,
		"/srv/.docker/config.json": true, "/srv/docker/config.json": false, "/srv/config.json": false,
		"/srv/a.secret/b": true, "/srv/private/a.txt": true,
		"/srv/environment": false, "/srv/a/.git/config": true, "/srv/a/.git/HEAD": false,
		"/srv/a/.git/modules/a/b/config": true, "/srv/a/.git/worktrees/w/config.worktree": true,
		"/srv/a/.git/worktrees/w/HEAD": false, "/srv/.environment": false,
	} {
		if _, got := s.match(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	for _, text := range []string{"", "[", "a//b", "/a", "..", "!", "a/../b"} {
		if _, err := newSecrets([]string{text}); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("the pattern %q: %v", text, err)
		}
	}
}

// A link out of the roots reveals nothing about its target.
func TestALinkOutTellsNothing(t *testing.T) {
	t.Parallel()
	base := plot(t, "root", "outside/there")
	put(t, filepath.Join(base, "outside/file"), "x")
	for link, target := range map[string]string{"root/out": "../outside", "root/all": filepath.Join(base, "outside"),
		"root/to": "out/there", "root/nowhere": "../outside/none"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := policy(t, Options{Roots: []string{filepath.Join(base, "root")}})
	for _, name := range []string{"out", "out/there", "out/none", "out/none/deeper", "out/file", "out/file/below",
		"all/there", "all/none", "to", "to/none", "nowhere"} {
		path := filepath.Join(base, "root", name)
		_, err := p.Resolve(path)
		if err == nil || !strings.Contains(err.Error(), "lies outside the directories allowed") {
			t.Errorf("Resolve(%s) = %v", name, err)
		}
	}
	if _, err := p.Resolve(
		filepath.Join(base, "root/none"),
	); err == nil ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing directory inside: %v", err)
	}
}
