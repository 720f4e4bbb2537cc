package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/engine"
	"example.org/parley/store"
)

func keysCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "keys", Short: "Make, list and revoke API keys"}

	var input client.KeyInput
	var role string
	create := &cobra.Command{
		Use:   "create --name NAME [--workspace W]",
		Short: "Make an API key and print it, this once",
		Long: "Make an API key and print it, this once: it is stored as a hash only. A workspace\nthat is new is " +
			"made. From the first key on every request needs one. With no server\nrunning the database is opened " +
			"directly.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			input.Workspace, input.Role = shared.workspace, parley.PrincipalRole(role)
			if input.Workspace == "" {
				input.Workspace = parley.DefaultWorkspace
			}
			created, err := createKey(cmd.Context(), shared, input)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(created)
			}
			_, err = fmt.Fprintln(term.out, created.Secret)
			return err
		},
	}
	create.Flags().StringVar(&input.Name, "name", "", "what the key is for")
	create.Flags().StringVar(&role, "role", string(parley.RoleAdmin), "admin, member or reader")
	create.Flags().
		IntVar(&input.RequestsPerMinute, "requests-per-minute", 0,
			"how many requests the key may send; beyond it they are 429")
	create.Flags().Int64Var(&input.MaxSessions, "max-sessions", 0, "how many sessions the key may own; beyond it 409")
	create.Flags().
		Var((*size)(&input.MaxStorage), "max-storage",
			"how many bytes of files the key may have uploaded, such as 500MiB; beyond it 409")
	_ = create.MarkFlagRequired("name") // the flag stands one line above

	command.AddCommand(
		create,
		keysListCommand(shared, term),
		keysRevokeCommand(shared),
		signInsCommand(shared, term),
	)
	return command
}

func signInsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "sign-ins", Short: "List and end the sign-ins of browsers"}
	command.AddCommand(signInsListCommand(shared, term), signInsEndCommand(shared))
	return command
}

// keyLimits says what a key is limited to.
func keyLimits(k *parley.Key) string {
	var limits []string
	if k.RequestsPerMinute != nil {
		limits = append(limits, fmt.Sprintf("%d/min", *k.RequestsPerMinute))
	}
	if k.MaxSessions != nil {
		limits = append(limits, fmt.Sprintf("sessions: %d", *k.MaxSessions))
	}
	if k.MaxStorage != nil {
		limits = append(limits, "files: "+(*size)(k.MaxStorage).String())
	}
	return strings.Join(limits, ", ")
}

// createKey asks the server, or opens the store itself when none runs here.
func createKey(ctx context.Context, shared *flags, input client.KeyInput) (client.NewKey, error) {
	server, err := shared.connect(getenv)
	if err != nil {
		return client.NewKey{}, err
	}
	created, err := server.CreateKey(ctx, input)
	if err == nil || parley.ErrorCode(err) != parley.CodeUnavailable || shared.url != "" || getenv("PARLEY_URL") != "" {
		return created, err
	}
	s, err := loadSettings(shared, getenv)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return client.NewKey{}, err
	}
	store, err := openStore(ctx, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return client.NewKey{}, err
	}
	created, err = createKeyIn(ctx, store, s, input)
	return created, errors.Join(err, store.Close())
}

func createKeyIn(ctx context.Context, store store.Store, s settings, input client.KeyInput) (client.NewKey, error) {
	// The token file comes first: once a key exists it is what lets this machine's
	// user in. The machines that share a PostgreSQL make theirs when they serve.
	if s.DatabaseURL == "" {
		if _, err := localToken(s.DataDir); err != nil {
			return client.NewKey{}, err
		}
	}
	verbs := engine.New(engine.Options{Store: store})
	created, err := verbs.CreateKeyIn(ctx, input.Workspace, engine.KeyInput{
		Name:              input.Name,
		Role:              input.Role,
		RequestsPerMinute: input.RequestsPerMinute,
		MaxSessions:       input.MaxSessions,
		MaxStorage:        input.MaxStorage,
	})
	if err != nil {
		return client.NewKey{}, err
	}
	return client.NewKey{Secret: created.Secret, Key: created.Key}, nil
}

// dataDirMade makes the data directory if it is not there, for its owner only.
func dataDirMade(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return parley.WrapError(
			parley.CodeInvalid,
			err,
			"the data directory "+filepath.Clean(dir)+" cannot be made; give another with --data or PARLEY_DATA",
		)
	}
	return nil
}
