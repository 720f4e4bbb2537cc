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

// codeBytes is how many random bytes a one-time code has.
const codeBytes = 16

// insecureNotice is on every page of a server that lets in every user of its machine.
const insecureNotice = "Insecure: every user of this machine can do everything here (--insecure-local)."

// kernel tells which user a connection belongs to; tests replace it.
type kernel struct {
	check func(context.Context) error // nil if it can tell
	own   func(context.Context) error // nil if the request belongs to this process's user
}

// ownUser reports whether a request comes from the server's own user.
func (k kernel) ownUser(ctx context.Context) error {
	err := k.own(ctx)
	if errors.Is(err, peer.ErrUnsupported) {
		return httpapi.ErrCannotTell
	}
	return err
}

// nameOwner decides how to recognise the server's own user while no key exists: by the connection or, if the system
// cannot tell, by a one-time code. Once a key exists there is nothing to decide.
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
			"this system does not tell which user a connection belongs to; the page signs in by a one-time code",
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

// notice is a warning for every page; "" for none.
func (s *server) notice() string {
	if s.loopback && s.settings.InsecureLocal {
		return insecureNotice
	}
	return ""
}

// greetOwner prints how to open the page if the system cannot tell who opens it.
func (s *server) greetOwner(term terminal) {
	if s.code == "" {
		return
	}
	fmt.Fprintf(term.out, "\nThis system does not tell Parley which user a connection belongs to. Open the page with\n"+
		"  %s/sign-in?code=%s\nwhich works once, for %s. The command line is let in by the file token in the data "+
		"directory.\n",
		s.url(), s.code, httpapi.SignInCodeTime)
}
