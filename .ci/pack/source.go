package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// source writes a directory as an archive: its files in order, of nobody, with the commit's time.
func source(x *request) error {
	return create(x.out, func(w io.Writer) error {
		zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		archive := tar.NewWriter(zip)
		err = filepath.WalkDir(x.operand, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return x.addFile(archive, file, d)
		})
		if err != nil {
			return err
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return zip.Close()
	})
}

// addFile adds a file or a folder of the source. Who may run a file is all that is left of its mode.
func (x *request) addFile(archive *tar.Writer, file string, d fs.DirEntry) error {
	within, err := filepath.Rel(x.operand, file)
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	header := x.header(path.Join(x.name, filepath.ToSlash(within)), 0o644)
	switch {
	case d.IsDir():
		header.Typeflag = tar.TypeDir
		header.Name += "/"
		header.Mode = 0o755
		return archive.WriteHeader(header)
	case info.Mode()&0o111 != 0:
		header.Mode = 0o755
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	header.Size = int64(len(content))
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = archive.Write(content)
	return err
}

// header returns the header of a file of an archive, which belongs to root.
func (x *request) header(name string, mode int64) *tar.Header {
	return &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Mode:     mode,
		ModTime:  x.time,
		Format:   tar.FormatPAX,
	}
}

// create writes a new file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
