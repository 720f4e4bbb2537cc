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

	create := keysCreateCommand(shared, term)
	create.Long = "Make an API key and print it, this once: only its hash is stored. " +
		"A new workspace is\ncreated. Once a " +
		"key exists, every request needs one. If no server runs, this opens the\ndatabase directly."
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

// keyLimits names the limits of a key.
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

// printSecret prints the secret of a new key.
func printSecret(t terminal, created *client.NewKey) error {
	_, err := fmt.Fprintln(t.out, created.Secret)
	return err
}

// createKey asks the server for a key, or opens the store itself if no server runs on this machine.
func createKey(
	ctx context.Context,
	server *client.Client,
	shared *flags,
	input client.KeyInput,
) (client.NewKey, error) {
	if input.Workspace = shared.workspace; input.Workspace == "" {
		input.Workspace = parley.DefaultWorkspace
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
	// The token file comes first: once a key exists, it lets this machine's user in. Machines that share a PostgreSQL
	// database make theirs when they serve.
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

// dataDirMade makes sure that the data directory exists, for its owner only.
func dataDirMade(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return parley.WrapError(
			parley.CodeInvalid,
			err,
			"the data directory "+filepath.Clean(dir)+" cannot be created; choose another with --data or PARLEY_DATA",
		)
	}
	return nil
}
