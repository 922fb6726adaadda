# Tables of the toolkit in R, by its default calls: a line for each column, with its class and how many cells are missing.
# usage: Rscript tables.R TABLE.tsv...    (r-base-core)
for (path in commandArgs(TRUE)) {
    table <- read.delim(path)
    for (name in names(table)) {
        column <- table[[name]]
        cat(path, nrow(table), name, class(column), sum(is.na(column)), sep = "\t")
        cat("\n")
    }
}
