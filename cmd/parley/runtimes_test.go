package main

import (
	"errors"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.org/parley/internal/confine"
)

// A program gets what programs need to run and what parley.yaml names, and is kept from
// the server's data; what cannot be kept from it is not started.
func TestRuntimesAreGuarded(t *testing.T) {
	t.Parallel()
	env := func(name string) string {
		return map[string]string{"PATH": "/bin", "OPENAI_API_KEY": "sk-server", "CODER_KEY": "hush"}[name]
	}
	data := t.TempDir()
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	plain := runtimeSetting{Name: "coder", Command: "coder", Env: map[string]string{"KEY": "${CODER_KEY}"}}
	root := os.Getuid() == 0
	if root {
		plain.User = "nobody"
	}
	command, err := plain.resolve(env, []string{data})
	if !root && !confine.Supported() {
		if err == nil {
			t.Fatal("nothing guards the data, and the program is started")
		}
	} else if err != nil {
		t.Fatal(err)
	}
	if (command.Cage.User != nil) != root || (len(command.Cage.Closed) == 1) == root && err == nil {
		t.Errorf("it runs as %+v and is closed out of %q", command.Cage.User, command.Cage.Closed)
	}
	all := strings.Join(command.Environment, " ")
	if err == nil && (!slices.Contains(command.Environment, "KEY=hush") || strings.Contains(all, "sk-server")) {
		t.Errorf("its environment is %q", all)
	}
	for says, given := range map[string]runtimeSetting{
		"must say: I accept": {Name: "coder", Command: "coder", Unguarded: "yes"},
		"lower-case":         {Name: "Coder", Command: "coder"},
		"name the program":   {Name: "coder"},
		"CODER_TOKEN": {
			Name: "coder", Command: "coder", Unguarded: reachesData, Env: map[string]string{"A": "${CODER_TOKEN}"},
		},
		"user": {Name: "coder", Command: "coder", User: "root"},
	} {
		if _, err := given.resolve(env, []string{data}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", given, err, says)
		}
	}
	if nobody, err := user.Lookup("nobody"); root && err == nil {
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		for _, owner := range [][2]int{{uid, 0}, {0, gid}} {
			if err := errors.Join(
				os.Chown(data, owner[0], owner[1]),
				os.Chmod(data, 0o750),
			); err != nil { //nolint:gosec // as above
				t.Fatal(err)
			}
			if _, err := plain.resolve(env, []string{data}); err == nil || !strings.Contains(err.Error(), "chown") {
				t.Errorf("data of its own, %v: %v", owner, err)
			}
		}
		if err := os.Chown(data, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(data, 0o755); err != nil { //nolint:gosec // what is refused
		t.Fatal(err)
	}
	if _, err := plain.resolve(
		env,
		[]string{data},
	); root &&
		(err == nil || !strings.Contains(err.Error(), "chmod o-rwx")) {
		t.Errorf("data that everybody may enter: %v", err)
	}
}
