package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/peer"
)

const (
	tokenFile = "token" // the machine's own user, mode 0600
	urlFile   = "url"   // where the running server listens

	// tokenPrefix begins tokens. Tokens that begin otherwise are older and get replaced.
	tokenPrefix = "parley_local2_"
)

// connect makes a client for the server that the flags, the environment or the data directory name.
func (f *flags) connect(env func(string) string) (*client.Client, error) {
	options := client.Options{URL: f.url, Key: f.key, Workspace: f.workspace}
	if options.URL == "" {
		options.URL = env("PARLEY_URL")
	}
	if options.Key == "" {
		options.Key = env("PARLEY_KEY")
	}
	if options.Workspace == "" {
		options.Workspace = env("PARLEY_WORKSPACE")
	}
	dir, err := f.dataDir(env)
	if err != nil {
		return nil, err
	}
	if options.URL == "" {
		if at, err := os.ReadFile(
			filepath.Join(dir, urlFile),
		); err == nil { //nolint:gosec // the user's own data directory
			options.URL = strings.TrimSpace(string(at))
		}
	}
	if options.Key == "" && onThisMachine(options.URL) {
		options.Key, options.HTTPClient = tokenOf(dir)
	}
	return client.New(options)
}

// tokenOf reads the local token, "" without one, and returns a client that sends it only to a server run by the token's
// owner: after a server has ended, any user of the machine may listen on its port.
func tokenOf(dir string) (string, *http.Client) {
	path := filepath.Join(dir, tokenFile)
	token, err := os.ReadFile(path) //nolint:gosec // the user's own data directory
	if err != nil {
		return "", nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", nil
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", nil
	}
	return strings.TrimSpace(string(token)), &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialServerOf(ctx, network, address, owner.Uid)
		},
		IdleConnTimeout: idleConnection,
	}}
}

// idleConnection is how long a connection to the server is kept.
const idleConnection = time.Minute

// dialServerOf connects to a server that a user runs.
func dialServerOf(ctx context.Context, network, address string, uid uint32) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	err = peer.AcceptedBy(ctx, conn, uid)
	if err == nil || errors.Is(err, peer.ErrUnsupported) { // elsewhere the address has to do
		return conn, nil
	}
	return nil, errors.Join(parley.Errorf(
		parley.CodeUnavailable,
		"what answers at %s is not a server of the user whose token this is, so nothing was sent to it: start the "+
			"server with parley serve, or give a key with --key or PARLEY_KEY",
		address,
	), conn.Close())
}

// onThisMachine reports whether a server's address is one of this machine; "" is.
func onThisMachine(address string) bool {
	if address == "" {
		return true
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	if parsed.Hostname() == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(parsed.Hostname())
	if err != nil {
		return false
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(at net.Addr) bool {
		prefix, err := netip.ParsePrefix(at.String())
		return err == nil && prefix.Addr() == ip.Unmap().WithZone("")
	})
}

// asking makes a command's RunE of a function that asks the server.
func (f *flags) asking(
	run func(ctx context.Context, server *client.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		server, err := f.connect(getenv)
		if err != nil {
			return err
		}
		defer server.Close()
		if err := findReferences(cmd.Context(), server, cmd); err != nil {
			return err
		}
		if places := placesOf(cmd); len(places) > 0 && places[0] == "AGENT" {
			agent, err := referAgent(cmd.Context(), server, args[0])
			if err != nil {
				return err
			}
			args = append([]string{agent}, args[1:]...)
		}
		return run(cmd.Context(), server, args)
	}
}

// about makes a command's RunE of a function that asks the server about one thing, which the first argument names by
// its id, the beginning of it, or last; args are all arguments.
func (f *flags) about(
	run func(ctx context.Context, server *client.Client, id parley.ID, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return f.asking(func(ctx context.Context, server *client.Client, args []string) error {
			id, err := refer(ctx, server, placesOf(cmd)[0], args[0])
			if err != nil {
				return err
			}
			return run(ctx, server, id, args)
		})(cmd, args)
	}
}

// idIfGiven reads an id from a flag; zero if the flag is empty.
func idIfGiven(flag string) (parley.ID, error) {
	if flag == "" {
		return parley.ID{}, nil
	}
	return parley.ParseID(flag)
}

// localToken reads the data directory's token file, and makes it if it does not exist.
func localToken(dir string) (string, error) {
	path := filepath.Join(dir, tokenFile)
	raw, err := os.ReadFile(path) //nolint:gosec // the user's own data directory
	if err == nil {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			if err := os.Chmod(path, 0o600); err != nil {
				return "", parley.WrapError(
					parley.CodeInvalid,
					err,
					path+" is readable by other users, and that cannot be changed",
				)
			}
		}
		if token := strings.TrimSpace(string(raw)); token != "" {
			return token, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", parley.WrapError(parley.CodeInvalid, err, path+" cannot be read")
	}
	return newToken(dir)
}

// tokenSince is when the token file was last written. A clock that was ahead then must not keep its owner out now.
func tokenSince(dir string) (parley.Time, error) {
	info, err := os.Stat(filepath.Join(dir, tokenFile))
	if err != nil {
		return 0, parley.WrapError(parley.CodeInvalid, err, filepath.Join(dir, tokenFile)+" cannot be read")
	}
	return min(parley.TimeOf(info.ModTime()), parley.Now()), nil
}

// newToken makes a token and writes it to the data directory's token file.
func newToken(dir string) (string, error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", err
	}
	token := tokenPrefix + hex.EncodeToString(secret[:])
	if err := writeWhole(filepath.Join(dir, tokenFile), token+"\n", privateFile); err != nil {
		return "", err
	}
	return token, nil
}

// writeWhole writes a small file atomically: readers see the old one or the new one.
func writeWhole(path, content string, mode os.FileMode) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(content), mode); err != nil {
		return parley.WrapError(parley.CodeInvalid, err, path+" cannot be written")
	}
	if err := os.Rename(fresh, path); err != nil {
		return parley.WrapError(parley.CodeInvalid, err, path+" cannot be written")
	}
	return nil
}
