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

	list := &cobra.Command{
		Use:   "list",
		Short: "List the keys of a workspace",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			page, err := server.Keys(ctx)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(page.Data)
			}
			rows := make([][]string, len(page.Data))
			for i, k := range page.Data {
				state := "active"
				if k.RevokedAt != 0 {
					state = "revoked " + k.RevokedAt.String()
				}
				rows[i] = []string{
					k.ID.String(),
					k.Name,
					string(k.Role),
					k.Prefix + "…",
					keyLimits(&k),
					k.CreatedAt.String(),
					state,
				}
			}
			return term.printTable([]string{"ID", "NAME", "ROLE", "KEY", "LIMITS", "CREATED", "STATE"}, rows)
		}),
	}
	revoke := &cobra.Command{
		Use:   "revoke KEY_ID",
		Short: "End a key",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			return server.RevokeKey(ctx, id)
		}),
	}
	command.AddCommand(create, list, revoke, signInsCommand(shared, term))
	return command
}

func signInsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "sign-ins", Short: "List and end the sign-ins of browsers"}
	list := &cobra.Command{
		Use:   "list",
		Short: "List the browsers that are signed in: one's own, to admins all of the workspace",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			page, err := server.SignIns(ctx)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(page.Data)
			}
			rows := make([][]string, len(page.Data))
			for i, in := range page.Data {
				rows[i] = []string{
					in.ID.String(),
					in.PrincipalName,
					in.CreatedAt.String(),
					in.LastUsedAt.String(),
					in.ExpiresAt.String(),
				}
			}
			return term.printTable([]string{"ID", "WHO", "SINCE", "LAST USED", "UNTIL"}, rows)
		}),
	}
	end := &cobra.Command{
		Use:   "end SIGN_IN_ID",
		Short: "End the sign-in of a browser",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			return server.EndSignIn(ctx, id)
		}),
	}
	command.AddCommand(list, end)
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
