package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

// lowDisk is the free space below which doctor warns.
const lowDisk = 500 << 20

// finding is what doctor reports about one thing.
type finding struct {
	Check string `json:"check"`
	State string `json:"state"` // ok, note or problem
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"`
}

func doctorCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check data directory, database, server, providers and tools, and say what to do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := diagnose(cmd.Context(), shared, getenv)
			if shared.json {
				if err := term.printJSON(findings); err != nil {
					return err
				}
			}
			failed := false
			for _, f := range findings {
				failed = failed || f.State == "problem"
				if shared.json {
					continue
				}
				fmt.Fprintf(term.out, "%-8s %-15s %s\n", f.State, f.Check, f.Says)
				if f.Do != "" {
					fmt.Fprintf(term.out, "%-24s → %s\n", "", f.Do)
				}
			}
			if failed {
				return errQuiet
			}
			return nil
		},
	}
}

func diagnose(ctx context.Context, shared *flags, env func(string) string) []finding {
	s, err := loadSettings(shared, env)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return []finding{{"settings", "problem", err.Error(), "correct the setting and run doctor again"}}
	}
	findings := []finding{checkDirectory(s.DataDir), checkDisk(s.DataDir)}
	server, running := checkServer(ctx, shared, env)
	findings = append(findings, server)
	if s.InsecureLocal {
		findings = append(
			findings,
			finding{
				"insecure_local",
				"problem",
				"is set: until a key exists, every user of this machine can do everything",
				"leave it out, or make a key with: parley keys create --name NAME",
			},
		)
	}
	findings = append(findings, checkStore(ctx, s, running)...)
	if running {
		findings = append(findings, askProviders(ctx, shared, env)...)
		return append(findings, askTools(ctx, shared, env)...)
	}
	findings = append(findings, checkProviders(s, env)...)
	return append(findings, checkPrograms(s)...)
}

func checkDirectory(dir string) finding {
	f := finding{Check: "data directory"}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State, f.Says = "note", dir+" does not exist yet; parley serve creates it"
		return f
	case err != nil || !info.IsDir():
		f.State, f.Says, f.Do = "problem", dir+" is not a readable directory",
			"choose another with --data or PARLEY_DATA"
		return f
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		f.State, f.Says, f.Do = "problem", dir+" cannot be written to",
			"give the directory to this user, or choose another one with --data"
		return f
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		f.State, f.Says = "problem", err.Error()
		return f
	}
	f.State, f.Says = "ok", dir
	if token, err := os.Stat(filepath.Join(dir, tokenFile)); err == nil && token.Mode().Perm()&0o077 != 0 {
		f.State, f.Says, f.Do = "problem", "others may read "+filepath.Join(
			dir,
			tokenFile,
		), "chmod 600 "+filepath.Join(
			dir,
			tokenFile,
		)
	}
	return f
}

func checkDisk(dir string) finding {
	f := finding{Check: "disk"}
	for at := dir; ; at = filepath.Dir(at) {
		var fs syscall.Statfs_t
		if err := syscall.Statfs(at, &fs); err != nil {
			if at == filepath.Dir(at) {
				f.State, f.Says = "note", "free space cannot be read"
				return f
			}
			continue
		}
		free := fs.Bavail * uint64(fs.Bsize) //nolint:gosec // a block size is positive
		f.State, f.Says = "ok", fmt.Sprintf("%d MiB free", free>>20)
		if free < lowDisk {
			f.State, f.Do = "problem", "free some space: on a full disk messages are refused with 507"
		}
		return f
	}
}

func checkServer(ctx context.Context, shared *flags, env func(string) string) (finding, bool) {
	f := finding{Check: "server"}
	server, err := shared.connect(env)
	if err != nil {
		f.State, f.Says = "problem", err.Error()
		return f, false
	}
	defer server.Close()
	if err := server.Ready(ctx); err != nil {
		if _, answers := server.Principal(ctx); answers == nil { // it runs and lets the caller in
			f.State, f.Says, f.Do = "problem", "runs at "+server.URL()+" and is not ready: "+err.Error(),
				"see the server's log; if the database is damaged, run parley verify"
			return f, true
		}
		f.State, f.Says, f.Do = "note", "no server answers at "+server.URL(), "start one with: parley serve"
		return f, false
	}
	who, err := server.Principal(ctx)
	if err != nil {
		f.State, f.Says, f.Do = "problem", "runs at "+server.URL()+" but does not let you in: "+err.Error(),
			"give a key with --key or PARLEY_KEY"
		return f, true
	}
	f.State, f.Says = "ok", fmt.Sprintf(
		"runs at %s; you are %s (%s) in workspace %s",
		server.URL(),
		who.Name,
		who.Role,
		who.Workspace,
	)
	return f, true
}

// askProviders asks the running server, whose environment and configuration may differ from this command's.
func askProviders(ctx context.Context, shared *flags, env func(string) string) []finding {
	server, err := shared.connect(env)
	if err != nil {
		return []finding{{"provider", "problem", err.Error(), ""}}
	}
	defer server.Close()
	told, err := server.Providers(ctx)
	if parley.ErrorCode(err) == parley.CodeUnauthenticated || parley.ErrorCode(err) == parley.CodeForbidden {
		return nil // the finding about the server says so
	}
	if err != nil {
		return []finding{{"provider", "problem", "the server cannot be asked: " + err.Error(), "see the server's log"}}
	}
	var findings []finding
	for i := range told.Data {
		p := &told.Data[i]
		if p.Configured && !p.Simulator {
			findings = append(findings, finding{"provider", "ok", "the server has " + p.Name, ""})
		}
	}
	if len(findings) == 0 {
		findings = append(findings, finding{"provider", "note",
			"the server has none: the built-in simulator answers",
			"set OPENAI_API_KEY or ANTHROPIC_API_KEY in the server's environment, or add one under providers in " +
				"its parley.yaml, and start it again"})
	}
	models, err := server.Models(ctx, client.ModelsQuery{Limit: 1})
	if err != nil {
		return append(findings, finding{"default model", "problem", err.Error(), "see the server's log"})
	}
	return append(findings, finding{Check: "default model", State: "ok", Says: modelLabel(models.Default)})
}

func checkProviders(s settings, env func(string) string) []finding {
	models, open, err := buildModels(s, env)
	if err != nil {
		return []finding{{"providers", "problem", err.Error(), "correct the provider's setting"}}
	}
	for _, o := range open {
		o.Close()
	}
	var findings []finding
	for _, p := range configuredProviders(s, env) {
		f := finding{Check: "provider", State: "ok", Says: p.Name + " is configured"}
		if p.KeyEnv != "" && env(p.KeyEnv) == "" {
			f.State, f.Says = "note", p.Name+" has no key: "+p.KeyEnv+" is not set"
		}
		findings = append(findings, f)
	}
	if len(findings) == 0 {
		findings = append(findings, finding{"provider", "note", "none is configured: the built-in simulator answers",
			"set OPENAI_API_KEY or ANTHROPIC_API_KEY, or add one under providers in parley.yaml"})
	}
	if _, _, err := models.Resolve(models.Default()); err != nil {
		return append(
			findings,
			finding{
				"default model",
				"problem",
				parley.Clip(err.Error(), 300),
				"set PARLEY_MODEL to a configured provider's model",
			},
		)
	}
	return append(findings, finding{Check: "default model", State: "ok", Says: modelLabel(models.Default())})
}
