package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

func TestWiderModesAreNarrowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, settingsFile), "log_level: warn\n")
	writeFile(t, filepath.Join(dir, tokenFile), tokenPrefix+"x\n")
	modes := map[string]fs.FileMode{
		dir:                              0o700,
		filepath.Join(dir, settingsFile): 0o600,
		filepath.Join(dir, tokenFile):    0o600,
	}
	for path, mode := range modes {
		if err := os.Chmod(path, mode|0o066); err != nil { //nolint:gosec // what the test is about
			t.Fatal(err)
		}
	}
	srv, c := opened(t, dir, nil, io.Discard)
	c.Close()
	defer func() {
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	for path, mode := range modes {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestFilesThatAreNotTheServersAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	writeFile(t, elsewhere, "log_level: warn\n")
	for _, name := range []string{settingsFile, tokenFile} {
		dir := t.TempDir()
		if err := os.Symlink(elsewhere, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := ownFiles(dir); parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is a link: %v", name, err)
		}
	}
	if err := ownFiles(elsewhere); err == nil {
		t.Error("a file was taken for the data directory")
	}
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777|fs.ModeSticky); err != nil { //nolint:gosec // what the test is about
		t.Fatal(err)
	}
	if err := ownFiles(shared); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("a directory that everybody shares: %v", err)
	}
	foreign := "/" // of root
	if os.Geteuid() == 0 {
		foreign = t.TempDir()
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Skipf("the owner cannot be changed here: %v", err)
		}
	}
	if err := ownFiles(
		foreign,
	); parley.ErrorCode(err) != parley.CodeInvalid ||
		!strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("a directory of another user: %v", err)
	}
	if link := filepath.Join(t.TempDir(), "data"); os.Symlink(t.TempDir(), link) != nil || ownFiles(link) != nil {
		t.Errorf("a link to a directory of one's own was refused: %v", ownFiles(link))
	}
}

// A token that file tools of earlier releases could read is replaced, once.
func TestTokensOfEarlierReleasesAreReplaced(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	const old = "parley_local_0123456789abcdef"
	writeFile(t, filepath.Join(dir, tokenFile), old+"\n")
	var kept string
	for start := range 2 {
		srv, c := opened(t, dir, nil, log)
		token, err := localToken(dir)
		if err != nil || token == old || start > 0 && token != kept {
			t.Errorf("start %d: the token is %q, %v", start, token, err)
		}
		kept = token
		if _, err := c.CreateKey(
			t.Context(),
			client.KeyInput{Name: fmt.Sprint("key ", start)},
		); err != nil { // with the new one; from now on it is asked for
			t.Errorf("start %d: %v", start, err)
		}
		if answer := plain(t, c, old, "/v1/agents"); !strings.Contains(answer, `"unauthenticated"`) {
			t.Errorf("start %d: the old token: %s", start, answer)
		}
		c.Close()
		if err := srv.close(); err != nil {
			t.Fatal(err)
		}
	}
	if said := strings.Count(log.text.String(), "the local token was replaced"); said != 1 {
		t.Errorf("it was said %d times", said)
	}
	if strings.Contains(log.text.String(), old) || strings.Contains(log.text.String(), kept) {
		t.Error("a token was logged")
	}
}
