module mini

go 1.26
