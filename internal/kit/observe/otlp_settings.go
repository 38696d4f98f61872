package observe

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// defaultOTLPTimeout is the default of OTEL_EXPORTER_OTLP_TIMEOUT.
const defaultOTLPTimeout = 10 * time.Second

// otlpSettings configures an [otlpClient].
type otlpSettings struct {
	endpoint *url.URL
	headers  map[string]string
	timeout  time.Duration // of an upload with its retries
	gzip     bool
	tls      *tls.Config // nil: the certificate authorities of the system
}

// otlpEnv returns the value and the name of the environment variable
// OTEL_EXPORTER_OTLP_TRACES_name, or else OTEL_EXPORTER_OTLP_name.
func otlpEnv(name string) (value, variable string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		if value = strings.TrimSpace(os.Getenv(prefix + name)); value != "" {
			return value, prefix + name
		}
	}
	return "", ""
}

// readOTLPSettings reads the variables ENDPOINT, HEADERS, TIMEOUT, COMPRESSION, PROTOCOL,
// CERTIFICATE, CLIENT_CERTIFICATE and CLIENT_KEY by [otlpEnv]. Without ENDPOINT, it reads nothing
// else and returns a nil endpoint.
//
// It returns an error for an invalid endpoint, an unsupported protocol and an invalid file. As the
// specification requires, it ignores other invalid values. The log names their variables.
func readOTLPSettings(log *slog.Logger) (s otlpSettings, err error) {
	if s.endpoint, err = otlpEndpoint(); err != nil || s.endpoint == nil {
		return s, err
	}
	ignore := func(variable string) { log.Warn("invalid trace setting ignored", "variable", variable) }
	switch protocol, variable := otlpEnv("PROTOCOL"); protocol {
	case "grpc":
		return s, fmt.Errorf("unsupported %s %q (want http/protobuf): use the collector's HTTP port, usually 4318", variable, protocol)
	case "http/json":
		return s, fmt.Errorf("unsupported %s %q (want http/protobuf)", variable, protocol)
	}
	s.timeout = defaultOTLPTimeout
	if v, variable := otlpEnv("TIMEOUT"); v != "" {
		if ms, err := strconv.ParseUint(v, 10, 31); err == nil && ms > 0 {
			s.timeout = time.Duration(ms) * time.Millisecond
		} else {
			ignore(variable)
		}
	}
	switch v, variable := otlpEnv("COMPRESSION"); strings.ToLower(v) {
	case "gzip":
		s.gzip = true
	case "", "none":
	default:
		ignore(variable)
	}
	list, variable := otlpEnv("HEADERS")
	var valid bool
	if s.headers, valid = otlpHeaders(list); !valid {
		ignore(variable)
	}
	s.tls, err = otlpTLS()
	if err == nil && s.tls != nil && s.endpoint.Scheme != "https" {
		err = errors.New("trace certificates (OTEL_EXPORTER_OTLP_CERTIFICATE) require an https:// endpoint")
	}
	return s, err
}

// otlpEndpoint returns the URL that spans are sent to, or nil.
func otlpEndpoint() (*url.URL, error) {
	v, variable := otlpEnv("ENDPOINT")
	if v == "" {
		return nil, nil //nolint:nilnil // off
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("invalid %s: want an http:// or https:// URL", variable)
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" { // the base URL of all signals
		return u.JoinPath("v1/traces"), nil
	}
	u.Path = cmp.Or(u.Path, "/")
	return u, nil
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") //nolint:gochecknoglobals // never modified

// otlpHeaders parses a list like api-key=one,other=two%20words. It omits invalid elements; then
// valid is false.
func otlpHeaders(list string) (headers map[string]string, valid bool) {
	headers, valid = map[string]string{}, true
	for element := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(element) == "" {
			continue
		}
		name, encoded, _ := strings.Cut(element, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if err != nil || !headerName.MatchString(name) || strings.ContainsFunc(value, unicode.IsControl) || !strings.Contains(element, "=") {
			valid = false
			continue
		}
		headers[name] = value
	}
	return headers, valid
}

// otlpTLS reads the certificate files. It returns nil if there are none.
func otlpTLS() (*tls.Config, error) {
	roots, _ := otlpEnv("CERTIFICATE")
	certificate, _ := otlpEnv("CLIENT_CERTIFICATE")
	key, _ := otlpEnv("CLIENT_KEY")
	if roots == "" && certificate == "" && key == "" {
		return nil, nil //nolint:nilnil // the system's
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if roots != "" {
		pem, err := os.ReadFile(roots)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("read OTEL_EXPORTER_OTLP_CERTIFICATE: no certificate in PEM")
		}
	}
	if certificate != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _KEY: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
