package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// The pace of a verification, and where it stores its progress.
const (
	verifyFile = "verify.json" // in the data directory
	// it rests this many times as long as a step took, so that it uses half of one CPU at most
	verifyRest     = 1
	verifyLongest  = 2 * time.Second    // between two steps
	maxVerifyFound = 1000               // findings in the list; more are only counted
	verifyStale    = 7 * 24 * time.Hour // an interrupted verification older than this begins anew
)

// verified is the state of a verification, as it is stored and printed.
type verified struct {
	Place    parley.VerifyPlace           `json:"place"`
	Checked  map[parley.VerifyStage]int64 `json:"checked"`
	Findings []parley.Finding             `json:"findings"`
	More     int                          `json:"more_findings"` // in addition to the list
	Anchor   parley.Anchor                `json:"anchor"`
	Against  *parley.Anchor               `json:"against"`
	Store    string                       `json:"store"`
	At       time.Time                    `json:"at"`
}

func verifyCommand(shared *flags, term terminal) *cobra.Command {
	var against string
	var anew, unpaced bool
	command := &cobra.Command{
		Use:   "verify",
		Short: "Check pages, records, files and the audit for damage and for changes made outside Parley",
		Long: `Check the whole store, also while the server runs: the database's pages, every message
against the hash chain of its session, the bytes of every file, and the audit with its
chain. A running server does it step by step when asked; without one the store is opened.
It takes half of one CPU at most (--fast: as much as it gets), and goes on where it was
when it is interrupted (--anew: from the beginning).

The last line names the anchor, the end of the audit's chain. Keep it where nobody can
write who writes to the database, and give it to a later run: --anchor NUMBER:HASH.
The exit code is 0 when nothing is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			anchor, err := parseAnchor(against)
			if err != nil {
				return err
			}
			s, err := loadSettings(shared, getenv)
			if err == nil {
				err = s.check()
			}
			if err != nil {
				return err
			}
			step, end, err := verifier(cmd.Context(), shared, s)
			if err != nil {
				return err
			}
			state := resumed(s, anew, anchor)
			err = verify(cmd.Context(), s, state, step, unpaced, term)
			if err = errors.Join(err, end()); err != nil {
				return err
			}
			return tellVerified(shared, term, state)
		},
	}
	command.Flags().
		StringVar(&against, "anchor", "", "NUMBER:HASH of an earlier run, to check the audit's chain against")
	command.Flags().BoolVar(&anew, "anew", false, "start from the beginning, even after an interrupted run")
	command.Flags().BoolVar(&unpaced, "fast", false, "do not rest between steps")
	return command
}

// parseAnchor reads NUMBER:HASH; nil for "".
func parseAnchor(text string) (*parley.Anchor, error) {
	if text == "" {
		return nil, nil
	}
	digits, hash, _ := strings.Cut(text, ":")
	number, err := strconv.ParseInt(digits, 10, 64)
	anchor := parley.Anchor{Number: number}
	if err != nil || number < 1 || anchor.Hash.UnmarshalText([]byte(hash)) != nil || anchor.Hash.IsZero() {
		return nil, parley.Errorf(parley.CodeInvalid, "an anchor is NUMBER:HASH, as parley verify prints it")
	}
	return &anchor, nil
}

// stepOf takes a step of a verification.
type stepOf func(ctx context.Context, place parley.VerifyPlace, anchor *parley.Anchor) (parley.VerifyStep, error)

// verifier asks the running server, or opens the store if none runs.
func verifier(ctx context.Context, shared *flags, s settings) (step stepOf, end func() error, err error) {
	server, err := shared.connect(getenv)
	if err != nil {
		return nil, nil, err
	}
	_, err = server.Principal(ctx)
	if err == nil || parley.ErrorCode(err) != parley.CodeUnavailable || shared.url != "" || getenv("PARLEY_URL") != "" {
		return func(ctx context.Context, place parley.VerifyPlace, anchor *parley.Anchor) (parley.VerifyStep, error) {
			return server.Verify(ctx, client.VerifyInput{Place: place, Anchor: anchor})
		}, func() error { server.Close(); return nil }, err
	}
	server.Close()
	store, err := openStore(ctx, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, nil, err
	}
	step, left, err := verifierOf(ctx, store, shared.workspace)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return step, func() error { left(); return store.Close() }, nil
}

// verifierOf verifies an open store on behalf of the machine's own user, as a server does. If the store is too damaged
// to say who that is, the verification runs without an audit entry.
func verifierOf(ctx context.Context, store store.Store, workspace string) (step stepOf, end func(), err error) {
	log := slog.New(slog.DiscardHandler)
	owner, err := engine.New(engine.Options{Store: store, Log: log}).LocalOwner(ctx, workspace)
	switch {
	case parley.ErrorCode(err) == parley.CodeInvalid: // not a valid name of a workspace
		return nil, nil, err
	case err != nil:
		//nolint:nilerr // verification is for damaged stores
		return func(ctx context.Context, place parley.VerifyPlace, anchor *parley.Anchor) (parley.VerifyStep, error) {
			return engine.Verify(ctx, store, place, anchor)
		}, func() {}, nil
	}
	audit := engine.NewAuditLog(store, log) //nolint:contextcheck // it lives until end, not until ctx ends
	verbs := engine.New(engine.Options{Store: store, Audit: audit, Log: log})
	return func(ctx context.Context, place parley.VerifyPlace, anchor *parley.Anchor) (parley.VerifyStep, error) {
		return verbs.Verify(ctx, owner, place, anchor)
	}, audit.Close, nil
}

// resumed is the state of an interrupted run, or a new one.
func resumed(s settings, anew bool, anchor *parley.Anchor) *verified {
	fresh := &verified{
		Checked:  map[parley.VerifyStage]int64{},
		Findings: []parley.Finding{},
		Against:  anchor,
		Store:    storeName(s),
	}
	raw, err := os.ReadFile(filepath.Join(s.DataDir, verifyFile))
	if err != nil || anew {
		return fresh
	}
	left := &verified{}
	if json.Unmarshal(raw, left) != nil || left.Checked == nil || left.Store != fresh.Store ||
		time.Since(left.At) > verifyStale ||
		(anchor == nil) != (left.Against == nil) ||
		anchor != nil && *anchor != *left.Against {
		return fresh
	}
	return left
}

func storeName(s settings) string {
	if s.DatabaseURL != "" {
		return databaseName(s.DatabaseURL)
	}
	return "SQLite"
}

// verify takes all steps, and stores its progress after each.
func verify(ctx context.Context, s settings, state *verified, step stepOf, unpaced bool, term terminal) error {
	for state.Place.Stage != parley.VerifyDone {
		begun := time.Now()
		made, err := step(ctx, state.Place, state.Against)
		if err != nil {
			return err
		}
		state.Checked[made.Stage] += made.Checked
		room := max(0, min(len(made.Findings), maxVerifyFound-len(state.Findings)))
		state.Findings, state.More = append(state.Findings, made.Findings[:room]...), state.More+len(made.Findings)-room
		state.Place, state.Anchor, state.At = made.Next, made.Anchor, time.Now()
		if err := keepVerified(s.DataDir, state); err != nil {
			return err
		}
		if watched(term.err) {
			steer(term.err, clearLine)
			fmt.Fprintf(term.err, "verifying %-8s %9d", made.Stage, state.Checked[made.Stage])
		}
		if unpaced {
			continue
		}
		rest := time.NewTimer(min(verifyLongest, verifyRest*time.Since(begun)))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return context.Cause(ctx)
		}
	}
	if watched(term.err) {
		fmt.Fprintln(term.err)
	}
	if err := os.Remove(filepath.Join(s.DataDir, verifyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func keepVerified(dir string, state *verified) error {
	raw, err := json.Marshal(state)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, verifyFile)
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the progress of the verification cannot be stored in "+dir,
		)
	}
	return os.Rename(path+".new", path)
}

func tellVerified(shared *flags, term terminal, state *verified) error {
	wrong := len(state.Findings) + state.More
	switch {
	case shared.json:
		if err := term.printJSON(state); err != nil {
			return err
		}
	default:
		for _, f := range state.Findings {
			fmt.Fprintf(term.out, "%-8s %s: %s\n%-8s → %s\n", f.Stage, f.Where, f.Says, "", f.Do)
		}
		if state.More > 0 {
			fmt.Fprintf(term.out, "and %d more\n", state.More)
		}
		fmt.Fprintf(
			term.out,
			"Checked %d tables, %d messages, %d pieces of files, %d links of the audit, %d entries: %d findings.\n",
			state.Checked[parley.VerifyPages],
			state.Checked[parley.VerifyRecords],
			state.Checked[parley.VerifyFiles],
			state.Checked[parley.VerifyChain],
			state.Checked[parley.VerifyAudit],
			wrong,
		)
		fmt.Fprintf(term.out, "anchor %s\n", state.Anchor)
	}
	if wrong > 0 {
		return errQuiet
	}
	return nil
}
