package prereq

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// NeedMount lets the test run where a test may mount a disk in memory.
func NeedMount(t T) {
	t.Helper()
	Mount.Need(t, FindMount())
}

// NeedNamespaces lets the test run where a test may put processes into a network of their own.
func NeedNamespaces(t T) {
	t.Helper()
	Namespaces.Need(t, FindNamespaces())
}

// NeedChromium lets the test run where there is a browser, and returns its program.
func NeedChromium(t T) string {
	t.Helper()
	program, err := FindChromium()
	Chromium.Need(t, err)
	return program
}

// NeedCurl lets the test run where there is a curl.
func NeedCurl(t T) {
	t.Helper()
	_, err := FindTool("curl")
	Curl.Need(t, err)
}

// FindRoot tells why this process is not root's, or nothing.
func FindRoot() error {
	if id := os.Geteuid(); id != 0 {
		return fmt.Errorf("the tests run as user %d", id)
	}
	return nil
}

// FindMount tells why no disk in memory can be mounted, or nothing.
func FindMount() error {
	dir, err := os.MkdirTemp("", "wirelab-mount-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }() // empty
	if err := syscall.Mount("wirelab-test", dir, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("mount a disk in memory: %w", err)
	}
	return syscall.Unmount(dir, syscall.MNT_DETACH)
}

// FindNamespaces tells why no network namespace can be made, or nothing.
func FindNamespaces() error {
	if _, err := FindTool("ip"); err != nil {
		return err
	}
	command := exec.Command("true")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := command.Run(); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	return nil
}

// FindChromium finds a browser.
func FindChromium() (program string, err error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no chromium, chromium-browser or google-chrome is on the path")
}

// FindTool finds a program of the system's, which for an ordinary user need not be on the path.
func FindTool(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s is on the path", name)
}

// FindCCompiler tells why no C compiler can be used, or nothing.
func FindCCompiler() error {
	name := os.Getenv("CC")
	if name == "" {
		name = "gcc"
	}
	_, err := FindTool(name)
	return err
}

// FindPython tells why there is no Python that makes environments, or nothing.
func FindPython() error {
	name := os.Getenv("PYTHON")
	if name == "" {
		name = "python3"
	}
	program, err := FindTool(name)
	if err != nil {
		return err
	}
	if out, err := exec.Command(program, "-c", "import ensurepip, venv, sys; sys.exit(sys.version_info "+
		"< (3, 10))").CombinedOutput(); err != nil {
		return fmt.Errorf("%s is older than 3.10, or has no venv: %w %.200s", program, err, out)
	}
	return nil
}

// FindNode tells why there is no Node.js with its npm, or nothing.
func FindNode() error {
	_, err := FindTool("node")
	if err == nil {
		_, err = FindTool("npm")
	}
	return err
}

// Denied reports whether an error says that the system does not let this user do it.
func Denied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, exec.ErrNotFound)
}
