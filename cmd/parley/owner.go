package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"

	"example.org/parley/httpapi"
	"example.org/parley/internal/peer"
)

// codeBytes are the random ones of a one-time code.
const codeBytes = 16

// insecureNotice stands on every page of a server that was told to let everybody of
// its machine in.
const insecureNotice = "Insecure: every user of this machine can do everything here (--insecure-local)."

// kernel tells whose a connection is; tests take another.
type kernel struct {
	check func(context.Context) error // whether it tells
	own   func(context.Context) error // whether a request is this process's own user's
}

// ownUser reports whether a request comes from the server's own user.
func (k kernel) ownUser(ctx context.Context) error {
	err := k.own(ctx)
	if errors.Is(err, peer.ErrUnsupported) {
		return httpapi.ErrCannotTell
	}
	return err
}

// nameOwner settles how the server's own user is known while no key exists: by the
// connection, or where the system does not tell by a one-time code. With a key there
// is nothing to settle.
func (s *server) nameOwner(ctx context.Context) error {
	if s.kernel.own == nil {
		s.kernel = kernel{check: peer.Check, own: peer.Own}
	}
	if !s.loopback {
		return nil
	}
	keys, err := s.store.HasKeys(ctx)
	if err != nil || keys {
		return err
	}
	if s.settings.InsecureLocal {
		s.log.LogAttrs(
			ctx,
			slog.LevelWarn,
			"insecure_local is set: until a key exists, every user of this machine can do everything",
		)
		return nil
	}
	if err := s.kernel.check(ctx); err != nil {
		s.log.LogAttrs(
			ctx,
			slog.LevelInfo,
			"this system does not tell whose a connection is; the page signs in by a one-time code",
			slog.String("because", err.Error()),
		)
		random := make([]byte, codeBytes)
		if _, err := rand.Read(random); err != nil {
			return err
		}
		s.code = hex.EncodeToString(random)
	}
	return nil
}

// notice is what every page says; "" for nothing.
func (s *server) notice() string {
	if s.loopback && s.settings.InsecureLocal {
		return insecureNotice
	}
	return ""
}

// greetOwner says how the page is opened where the system does not tell who opens it.
func (s *server) greetOwner(term terminal) {
	if s.code == "" {
		return
	}
	fmt.Fprintf(term.out, "\nThis system does not tell Parley which user a connection comes from. Open the page with\n"+
		"  %s/sign-in?code=%s\nwhich works once, for %s. The command line is let in by the file token in the data "+
		"directory.\n",
		s.url(), s.code, httpapi.SignInCodeTime)
}
