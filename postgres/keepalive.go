package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Both ends probe a silent connection and give it up after keepIdle + keepProbes * keepEvery. That is less than a
// standard lease, so the locks of a machine that vanished in the middle of a batch are free when its turns are taken
// over. Linux would wait for two hours.
const (
	keepIdle   = 3 * time.Second
	keepEvery  = time.Second
	keepProbes = 4
)

// keepAlive makes both ends of a connection notice that the other one is gone. The server is told after connecting,
// because a pooler refuses connections with parameters that it does not know. There is no tcp_user_timeout: on Linux it
// would also cut off slow readers, such as a copy.
func keepAlive(config *pgx.ConnConfig) {
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepEvery, Count: keepProbes},
	}
	config.DialFunc = dialer.DialContext
	asked := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		err := conn.Exec(ctx, fmt.Sprintf("SET tcp_keepalives_idle = %d; SET tcp_keepalives_interval = %d; SET "+
			"tcp_keepalives_count = %d",
			int(keepIdle.Seconds()), int(keepEvery.Seconds()), keepProbes)).
			Close()
		var refused *pgconn.PgError
		if err != nil &&
			(!errors.As(err, &refused) || conn.IsClosed()) { // a connection that only refuses this remains usable
			return err
		}
		if asked != nil {
			return asked(ctx, conn)
		}
		return nil
	}
}
