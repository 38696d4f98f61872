package redisdb

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// overTLS starts a Redis that accepts only TLS connections with a client certificate of ca. Its own
// certificate has the given hosts.
func overTLS(t *testing.T, ca *testkit.CA, lasts time.Duration, hosts ...string) (addr string) {
	t.Helper()
	cert, key := ca.Sign("server", lasts, hosts...)
	port := testkit.FreePort(t)
	conf, err := filepath.Abs("../../../deploy/redis/tls.conf")
	if err != nil {
		t.Fatal(err)
	}
	// The files that tls.conf names do not exist here. The options after it override them.
	testkit.Redis(t, "--include", conf, "--bind", "127.0.0.1", "--tls-port", port,
		"--tls-ca-cert-file", ca.File, "--tls-cert-file", cert, "--tls-key-file", key)
	return "127.0.0.1:" + port
}

func ping(t *testing.T, cfg RedisConfig) error {
	t.Helper()
	cfg.Role, cfg.Timeout = "state", 5*time.Second
	rdb, err := OpenRedis(cfg, NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return rdb.Ping(t.Context()).Err()
}

func TestTLSVerifiesBothCertificates(t *testing.T) {
	ca, other := testkit.NewCA(t), testkit.NewCA(t)
	addr := overTLS(t, ca, time.Hour, "127.0.0.1")
	if _, err := x509.SystemCertPool(); err != nil { // loading them takes part of the connect timeout
		t.Fatal(err)
	}
	cert, key := ca.Sign("client", time.Hour)
	oldCert, oldKey := ca.Sign("old", -time.Hour)
	foreignCert, foreignKey := other.Sign("foreign", time.Hour)
	tests := []struct {
		name, url, want string
		files           RedisTLS
	}{
		{"both valid", "rediss://" + addr, "", RedisTLS{ca.File, cert, key}},
		{"another CA of the server", "rediss://" + addr, "certificate signed by unknown authority", RedisTLS{other.File, cert, key}},
		{"a CA unknown to the system", "rediss://" + addr, "certificate signed by unknown authority", RedisTLS{"", cert, key}},
		{"no client certificate", "rediss://" + addr, "certificate required", RedisTLS{CA: ca.File}},
		{"an expired client certificate", "rediss://" + addr, "certificate", RedisTLS{ca.File, oldCert, oldKey}},
		{"a client certificate of another CA", "rediss://" + addr, "unknown", RedisTLS{ca.File, foreignCert, foreignKey}},
		{"another host name", "rediss://" + strings.Replace(addr, "127.0.0.1", "localhost", 1), "wanted to match localhost", RedisTLS{ca.File, cert, key}},
		{"no TLS", "redis://" + addr, "EOF", RedisTLS{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := ping(t, RedisConfig{URL: tt.url, TLS: tt.files})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("an expired server certificate", func(t *testing.T) {
		err := ping(t, RedisConfig{URL: "rediss://" + overTLS(t, ca, -time.Hour, "127.0.0.1"), TLS: RedisTLS{ca.File, cert, key}})
		if err == nil || !strings.Contains(err.Error(), "expired") {
			t.Error(err)
		}
	})
	t.Run("no version below 1.2", func(t *testing.T) {
		c, err := RedisTLS{ca.File, cert, key}.config()
		if err != nil || c.MinVersion != tls.VersionTLS12 || c.InsecureSkipVerify {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// A Sentinel and its master are different hosts: each is verified by its own name.
func TestTLSVerifiesSentinelAndMasterByName(t *testing.T) {
	ca := testkit.NewCA(t)
	addr := overTLS(t, ca, time.Hour, "127.0.0.1") // not localhost, the host of the Sentinel
	_, port, _ := strings.Cut(addr, ":")
	cert, key := ca.Sign("sentinel", time.Hour, "localhost")
	dir, sentinel := t.TempDir(), testkit.FreePort(t)
	conf := filepath.Join(dir, "sentinel.conf")
	text := "sentinel monitor tandian 127.0.0.1 " + port + " 1\nsentinel auth-user tandian " + testkit.AdminUser + "\nsentinel auth-pass tandian any\n" +
		"port 0\ntls-port " + sentinel + "\ntls-replication yes\ntls-cert-file " + cert + "\ntls-key-file " + key + "\ntls-ca-cert-file " + ca.File + "\nbind 127.0.0.1\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	clientCert, clientKey := ca.Sign("client", time.Hour)
	files := RedisTLS{ca.File, clientCert, clientKey}
	mine, err := files.config()
	if err != nil {
		t.Fatal(err)
	}
	testkit.RedisProcess(t, &redis.Options{Addr: "localhost:" + sentinel, TLSConfig: mine}, conf, "--sentinel")
	if err := ping(t, RedisConfig{URL: "rediss+sentinel://localhost:" + sentinel + "/?master_name=tandian", TLS: files}); err != nil {
		t.Error(err)
	}
	if err := ping(t, RedisConfig{URL: "rediss+sentinel://127.0.0.1:" + sentinel + "/?master_name=tandian", TLS: files}); err == nil {
		t.Error("the Sentinel's name was not verified")
	}
}

func TestRenewedTLSFilesNeedNoRestart(t *testing.T) {
	ca := testkit.NewCA(t)
	addr := overTLS(t, ca, time.Hour, "127.0.0.1")
	dir := t.TempDir()
	files := RedisTLS{CA: ca.File, Cert: filepath.Join(dir, "crt"), Key: filepath.Join(dir, "key")}
	put := func(cert, key string) {
		t.Helper()
		for from, to := range map[string]string{cert: files.Cert, key: files.Key} {
			text, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(to, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	put(ca.Sign("old", -time.Hour))
	// Each PING dials until one succeeds.
	rdb, err := OpenRedis(RedisConfig{URL: "rediss://" + addr, Role: "state", Timeout: 5 * time.Second, TLS: files}, NewRedisMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.Ping(t.Context()).Err(); err == nil {
		t.Fatal("an expired certificate was accepted")
	}
	put(ca.Sign("new", time.Hour))
	testkit.Eventually(t, 20*time.Second, func() bool { return rdb.Ping(t.Context()).Err() == nil })

	// A client that reads between two writes finds a certificate and a key that do not match.
	other, _ := ca.Sign("half", time.Hour)
	text, err := os.ReadFile(other)
	if err == nil {
		err = os.WriteFile(files.Cert, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if files.Check() == nil {
		t.Fatal("the pair matches")
	}
	if err := testkit.AdminClient(t, rdb).Ping(t.Context()).Err(); err != nil { // by the same dialer
		t.Errorf("new connection while the files are written: %v", err)
	}
}

func TestInvalidTLSFilesAreReported(t *testing.T) {
	ca, dir := testkit.NewCA(t), t.TempDir()
	cert, key := ca.Sign("one", time.Hour)
	_, otherKey := ca.Sign("other", time.Hour)
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("no PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, want string
		files      RedisTLS
	}{
		{"nothing", "", RedisTLS{}},
		{"all", "", RedisTLS{ca.File, cert, key}},
		{"a missing CA", "no such file", RedisTLS{CA: filepath.Join(dir, "none")}},
		{"an invalid CA", "holds no certificate", RedisTLS{CA: empty}},
		{"a certificate without its key", "both", RedisTLS{Cert: cert}},
		{"a key alone", "both", RedisTLS{Key: key}},
		{"the key of another certificate", "does not match", RedisTLS{Cert: cert, Key: otherKey}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.files.Check()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
