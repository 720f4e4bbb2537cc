package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// The states that the server answers with, as far as they are told apart here.
const (
	stateStale       = "PY001" // parley.stale(): the revision is another one
	stateLeaseGone   = "PY002" // parley.lease_gone()
	stateOverBudget  = "PY003" // parley.over_budget()
	stateFitsAgain   = "PY004" // parley.fits_again()
	stateWarned      = "PY005" // parley.warned_before()
	stateRateLimited = "PY006" // parley.rate_limited()
	stateUnique      = "23505"
	stateSerialize   = "40001"
	stateDeadlock    = "40P01"
	stateLocked      = "55P03" // a lock was not to be had for as long as groupWait
	stateDiskFull    = "53100"
	stateReadOnly    = "25006"
	stateCancelled   = "57014"
	stateShutdown    = "57P01" // the server stops; also a connection ended by an administrator
	stateCrash       = "57P02"
	stateStarting    = "57P03"
	stateFull        = "53300" // no connection is left
	stateIdleTooLong = "57P05"
	stateSilent      = "25P03" // in a transaction, for longer than idleBound says
	stateTooLong     = "25P04" // a transaction, for longer than the server allows
	statePlan        = "0A000" // a prepared statement's columns have other types since a migration
	stateNoStatement = "26000" // a prepared statement is another server connection's, behind a pooler
	stateNoDatabase  = "3D000"
	stateBadText     = "22021" // a NUL, or no UTF-8
	statePrivilege   = "42501"
	stateBadData     = "XX001" // data_corrupted: a page or a row cannot be read
	stateBadIndex    = "XX002" // index_corrupted
)

// stateOf is the server's answer in an error; "" when the server did not answer.
func stateOf(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// violated is the unique index that an error names; "" when it is no such error.
func violated(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == stateUnique {
		return answer.ConstraintName
	}
	return ""
}

// noteDamage keeps what the server says of damage.
func (s *Store) noteDamage(err error) {
	if state := stateOf(err); state == stateBadData || state == stateBadIndex {
		s.damage.Note(err.Error())
	}
}

// unsent reports that a batch did not reach the server, or was void because the
// server went away before its end: sending it again is safe.
func unsent(err error) bool {
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		return !hopeless(stateOf(err))
	}
	switch stateOf(err) {
	case stateShutdown, stateCrash, stateStarting, stateIdleTooLong, stateSilent, stateTooLong, stateFull:
		return true
	case "":
		return pgconn.SafeToRetry(err)
	}
	return false
}

// hopeless are the answers to a login that does not get better by waiting.
func hopeless(state string) bool {
	return strings.HasPrefix(state, "28") || state == stateNoDatabase || state == statePrivilege
}

// Absent reports that Open failed because no server answers, or one that starts, stops
// or is full: waiting may help. A refusal is none.
func Absent(err error) bool {
	switch state := stateOf(err); {
	case state == stateStarting, state == stateShutdown, state == stateCrash, state == stateFull:
		return true
	case state != "":
		return false
	}
	var connecting *pgconn.ConnectError
	var untrusted *tls.CertificateVerificationError
	return (errors.As(err, &connecting) || broken(err)) && !errors.As(err, &untrusted)
}

// contended reports that the server gave up a batch for another one, or because
// what the driver had prepared holds no more and is prepared anew: it is void and
// may be sent again.
func contended(err error) bool {
	switch stateOf(err) {
	case stateSerialize, stateDeadlock, statePlan, stateNoStatement:
		return true
	}
	return false
}

// unknown reports that the connection broke after a batch was sent and before
// its end was heard: it may be committed or not. A pooler whose own connection
// broke says so with an answer.
func unknown(err error) bool {
	if err == nil || unsent(err) {
		return false
	}
	if state := stateOf(err); state != "" {
		return strings.HasPrefix(state, "08")
	}
	var refusal *parley.Error
	return !errors.As(err, &refusal) && broken(err)
}

// broken reports an error of the network or of a deadline.
func broken(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "conn closed")
}

// mapError gives what a person can act on its code: a full disk is
// CodeStorageFull, a database out of reach CodeUnavailable, text that cannot be
// stored CodeInvalid. Refusals and the caller's own end pass through, and
// everything else stays what it is: the database failed.
func mapError(err error) error {
	if err == nil {
		return nil
	}
	var refusal *parley.Error
	if errors.As(err, &refusal) || errors.Is(err, context.Canceled) {
		return err
	}
	switch state := stateOf(err); {
	case state == stateOverBudget:
		return transition.OverBudget()
	case state == stateFitsAgain:
		return transition.FitsAgain()
	case state == stateWarned:
		return transition.WarnedBefore()
	case state == stateRateLimited:
		return rateLimited(err)
	case state == stateDiskFull:
		return parley.WrapError(
			parley.CodeStorageFull,
			err,
			"the disk of the database is full; make room and try again. Reading still works.",
		)
	case state == stateBadText:
		return parley.WrapError(
			parley.CodeInvalid,
			err,
			"the text holds a NUL character or is not UTF-8, which cannot be stored; remove it",
		)
	case state == stateReadOnly:
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the database takes no writes, as a standby does not; point PARLEY_DATABASE_URL at the primary",
		)
	case strings.HasPrefix(state, "28"):
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the database refuses the login; check user and password in PARLEY_DATABASE_URL",
		)
	case state == stateNoDatabase:
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the database does not exist on the server; create it, or correct PARLEY_DATABASE_URL",
		)
	case state == stateSerialize, state == stateDeadlock:
		return parley.WrapError(parley.CodeUnavailable, err, "too many changed the same rows at once; try again")
	case state == stateCancelled,
		strings.HasPrefix(state, "53"),
		strings.HasPrefix(state, "57P"),
		strings.HasPrefix(state, "08"):
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the database is overloaded or restarting; try again in a moment",
		)
	case strings.HasPrefix(state, "XX00"):
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the database reports that it is damaged; look at PostgreSQL's log",
		)
	case state != "":
		return err
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) || broken(err) {
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the database cannot be reached; check that PostgreSQL runs and that PARLEY_DATABASE_URL is right",
		)
	}
	return err
}
