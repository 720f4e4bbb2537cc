package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/oauth"
)

const (
	// secretKeyFile has the key that encrypts tokens, unless secretKeyVariable has one.
	secretKeyFile     = "secret.key"
	secretKeyVariable = "PARLEY_SECRET_KEY"
)

// secretKey returns the key that encrypts tokens. All processes with one database need the same one.
func secretKey(dir string, env func(string) string) ([]byte, error) {
	text, path := env(secretKeyVariable), filepath.Join(dir, secretKeyFile)
	if text == "" {
		raw, err := os.ReadFile(path) //nolint:gosec // the user's own data directory
		switch {
		case errors.Is(err, fs.ErrNotExist):
			key := make([]byte, oauth.KeyBytes)
			_, _ = rand.Read(key) // it never fails
			return key, writeWhole(path, base64.StdEncoding.EncodeToString(key)+"\n", privateFile)
		case err != nil:
			return nil, parley.WrapError(parley.CodeInvalid, err, path+" cannot be read")
		}
		text = string(raw)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != oauth.KeyBytes {
		return nil, parley.InvalidField(
			secretKeyVariable,
			"the key in it, or in %s, must be %d bytes in base64 (openssl "+
				"rand -base64 %d)",
			path,
			oauth.KeyBytes,
			oauth.KeyBytes,
		)
	}
	return key, nil
}

func toolServersCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "tool-servers", Short: "See and authorize the servers that tools come from"}
	command.AddCommand(
		toolServersListCommand(shared, term),
		toolServersAuthorizeCommand(shared, term),
		toolServersForgetCommand(shared),
		toolServersResourcesCommand(shared, term),
		toolServersAttachCommand(shared, term),
	)
	return command
}

// toolServerTrouble says what to do about a server.
func toolServerTrouble(s *parley.ToolServer) string {
	return strings.TrimSpace(parley.ValueOf(s.Reason) + " " + parley.ValueOf(s.Do))
}

// toolServersAuthorizeCommand makes parley tool-servers authorize: it receives the authorization server's answer
// itself, on this machine.
func toolServersAuthorizeCommand(shared *flags, term terminal) *cobra.Command {
	port := 0
	command := &cobra.Command{
		Use: "authorize SERVER", Args: cobra.ExactArgs(1),
		Short: "Authorize a server of tools for the workspace, in a browser on this machine",
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return err
			}
			defer func() { _ = listener.Close() }()
			redirect := "http://" + listener.Addr().String() + "/callback"
			asked, err := server.AuthorizeToolServer(
				ctx,
				args[0],
				client.ToolServerAuthorizationInput{RedirectURI: redirect},
			)
			if err != nil {
				return err
			}
			fmt.Fprintf(term.err, "Open this address in a browser on this machine, and agree there:\n\n")
			fmt.Fprintf(term.out, "%s\n", asked.URL)
			ctx, stop := context.WithTimeout(ctx, time.Duration(asked.ExpiresAt-parley.Now())*time.Millisecond)
			defer stop()
			answer, err := callback(ctx, listener, asked.State)
			if err != nil {
				return err
			}
			done, err := server.CompleteToolServerAuthorization(ctx, args[0], answer)
			if err != nil {
				return err
			}
			return printOne(term, shared, &done, func(t terminal, s *parley.ToolServer) error {
				_, err := fmt.Fprintf(t.out, "%s is authorized\n", s.Name)
				return err
			})
		}),
	}
	command.Flags().
		IntVar(&port, "port", 0, "where this machine waits for the answer; 0 takes a free port. A client id "+
			"of one's own may need the one that it was registered with")
	return command
}

// callback waits for the browser that brings an answer, and tells the person in it to close the page.
func callback(ctx context.Context, at net.Listener, state string) (client.ToolServerAnswerInput, error) {
	answers := make(chan client.ToolServerAnswerInput, 1)
	web := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			if r.URL.Path != "/callback" || query.Get("state") != state {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = fmt.Fprintln(w, "Thank you. You can close this page and go back to the terminal.")
			select {
			case answers <- client.ToolServerAnswerInput{
				State: state, Code: query.Get("code"), Iss: query.Get("iss"), Error: query.Get("error"),
			}:
			default: // a second one
			}
		}),
	}
	served := make(chan struct{})
	go func() { // until Shutdown
		defer close(served)
		_ = web.Serve(at)
	}()
	defer func() {
		_ = web.Shutdown(context.WithoutCancel(ctx))
		<-served
	}()
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		return client.ToolServerAnswerInput{}, parley.Errorf(
			parley.CodeUnavailable,
			"nobody agreed in time; begin again",
		)
	}
}
