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

// Server states that are treated specially.
const (
	stateStale       = "PY001" // parley.stale(): the revision has changed
	stateLeaseGone   = "PY002" // parley.lease_gone()
	stateOverBudget  = "PY003" // parley.over_budget()
	stateFitsAgain   = "PY004" // parley.fits_again()
	stateWarned      = "PY005" // parley.warned_before()
	stateRateLimited = "PY006" // parley.rate_limited()
	stateUnique      = "23505"
	stateSerialize   = "40001"
	stateDeadlock    = "40P01"
	stateLocked      = "55P03" // a lock was not available within groupWait
	stateDiskFull    = "53100"
	stateReadOnly    = "25006"
	stateCancelled   = "57014"
	stateShutdown    = "57P01" // the server is stopping, or an administrator ended the connection
	stateCrash       = "57P02"
	stateStarting    = "57P03"
	stateFull        = "53300" // no connections left
	stateIdleTooLong = "57P05"
	stateSilent      = "25P03" // idle in a transaction for longer than idleBound
	stateTooLong     = "25P04" // the transaction took longer than the server allows
	statePlan        = "0A000" // a migration changed the column types of a prepared statement
	stateNoStatement = "26000" // behind a pooler: the statement was prepared on a different server connection
	stateNoDatabase  = "3D000"
	stateBadText     = "22021" // a NUL, or invalid UTF-8
	statePrivilege   = "42501"
	stateBadData     = "XX001" // data_corrupted: a page or a row cannot be read
	stateBadIndex    = "XX002" // index_corrupted
)

// stateOf returns the server's state in an error; "" if the server did not answer.
func stateOf(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// violated returns the unique index that an error names; "" for other errors.
func violated(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == stateUnique {
		return answer.ConstraintName
	}
	return ""
}

// noteDamage records damage that the server reports.
func (s *Store) noteDamage(err error) {
	if state := stateOf(err); state == stateBadData || state == stateBadIndex {
		s.damage.Note(err.Error())
	}
}

// unsent reports that a batch did not reach the server, or was void because the server went away before its end, so it
// is safe to send again.
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

// hopeless reports login errors that waiting does not fix.
func hopeless(state string) bool {
	return strings.HasPrefix(state, "28") || state == stateNoDatabase || state == statePrivilege
}

// Absent reports that Open failed because the server does not answer, is starting or stopping, or is full, so waiting
// may help. A refused login does not count.
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

// contended reports that the server gave up a batch in favour of another, or that the driver's prepared statements are
// out of date and will be prepared again: the batch is void and may be sent again.
func contended(err error) bool {
	switch stateOf(err) {
	case stateSerialize, stateDeadlock, statePlan, stateNoStatement:
		return true
	}
	return false
}

// unknown reports that the connection broke after a batch was sent and before its result arrived: it may or may not be
// committed. A pooler reports its own broken connection as an error.
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

// broken reports an error of the network, or an expired deadline.
func broken(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) ||
		strings.Contains(err.Error(), "conn closed")
}

// mapError gives errors that a person can act on a code: a full disk is CodeStorageFull, an unreachable database
// CodeUnavailable, text that cannot be stored CodeInvalid. Refusals and the caller's own cancellation pass through; any
// other error means that the database failed.
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
			"the database accepts no writes; if it is a standby, point PARLEY_DATABASE_URL at the primary",
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
