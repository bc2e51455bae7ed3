CREATE VIEW events AS SELECT
  id,
  CAST((id * 7919 % 1000) / 100.0 - 5 AS DOUBLE) AS score,
  CAST(id % 3 = 0 AS INT) AS prediction,
  CASE id % 4 WHEN 0 THEN 'DE' WHEN 1 THEN 'FR' WHEN 2 THEN 'A B/ü=1' END AS country,
  CASE WHEN id % 11 > 0 THEN date_add(DATE '2023-12-28', CAST(id % 5 AS INT)) END AS day,
  CASE id % 13 WHEN 0 THEN NULL WHEN 1 THEN TIMESTAMP '9999-12-31 00:00:00'
    ELSE timestamp_micros(1704000000000000 + id * 3600123457) END AS moment,
  CASE WHEN id % 17 > 0
    THEN CAST(timestamp_micros(-1500 + id * 3600123457) AS TIMESTAMP_NTZ) END AS local,
  CASE WHEN id % 7 > 0 THEN CAST(id * 1.25 AS DECIMAL(12, 2)) END AS amount,
  CAST(id AS FLOAT) / 10 AS narrow,
  named_struct('title', concat('Offer ', id), 'price', CAST(id AS DOUBLE) / 8, 'count', CAST(id AS INT)) AS offer
FROM range(200);

CREATE NAMESPACE lake.db;

CREATE TABLE lake.db.evolved USING iceberg PARTITIONED BY (country)
  TBLPROPERTIES ('write.parquet.compression-codec' = 'zstd') AS SELECT * FROM events WHERE id < 100;
ALTER TABLE lake.db.evolved CREATE TAG before;
ALTER TABLE lake.db.evolved RENAME COLUMN score TO chance;
ALTER TABLE lake.db.evolved RENAME COLUMN offer.price TO old;
ALTER TABLE lake.db.evolved ADD COLUMN offer.price DOUBLE;
ALTER TABLE lake.db.evolved ADD COLUMN extra STRING AFTER id;
ALTER TABLE lake.db.evolved ALTER COLUMN offer.count TYPE BIGINT;
ALTER TABLE lake.db.evolved ALTER COLUMN narrow TYPE DOUBLE;
ALTER TABLE lake.db.evolved ALTER COLUMN amount TYPE DECIMAL(18, 2);
ALTER TABLE lake.db.evolved DROP PARTITION FIELD country;
ALTER TABLE lake.db.evolved ADD PARTITION FIELD days(moment);
ALTER TABLE lake.db.evolved ADD PARTITION FIELD bucket(2, id);
INSERT INTO lake.db.evolved SELECT id, 'x', score, prediction, country, day, moment, local, amount, narrow,
  named_struct('title', offer.title, 'old', -1D, 'count', 5000000000 + id, 'price', offer.price)
  FROM events WHERE id >= 160;
MERGE INTO lake.db.evolved AS old USING (SELECT id + 190 AS id FROM range(20)) AS new ON old.id = new.id
  WHEN MATCHED THEN UPDATE SET old.chance = 0.5
  WHEN NOT MATCHED THEN INSERT (id, chance, prediction) VALUES (new.id, 2.5, 1);
ALTER TABLE lake.db.evolved CREATE BRANCH side;
INSERT INTO lake.db.evolved.branch_side SELECT * FROM lake.db.evolved WHERE id < 5;

CREATE TABLE lake.db.positions USING iceberg PARTITIONED BY (country)
  TBLPROPERTIES ('write.delete.mode' = 'merge-on-read') AS SELECT * FROM events WHERE id < 50;
DELETE FROM lake.db.positions WHERE id % 10 = 3;
CALL lake.system.rewrite_data_files(table => 'db.positions', {rewrite});

CREATE TABLE lake.db.vectors USING iceberg PARTITIONED BY (country)
  TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')
  AS SELECT * FROM events WHERE id < 50;
DELETE FROM lake.db.vectors WHERE id % 10 = 3;
CALL lake.system.rewrite_data_files(table => 'db.vectors', {rewrite});

CREATE TABLE lake.db.equality USING iceberg AS SELECT id, score, prediction FROM events WHERE id < 20;
DELETE BY VALUE lake.db.equality prediction 1;
CALL lake.system.rewrite_data_files(table => 'db.equality', {rewrite});

CREATE TABLE lake.db.expired USING iceberg AS SELECT id, score, prediction FROM events WHERE id < 20;
INSERT INTO lake.db.expired SELECT id, score, prediction FROM events WHERE id BETWEEN 20 AND 29;
CALL lake.system.expire_snapshots(table => 'db.expired', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1);

CREATE TABLE delta.`{lake}/vectors` USING delta PARTITIONED BY (country)
  TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS SELECT * FROM events WHERE id < 50;
DELETE FROM delta.`{lake}/vectors` WHERE id % 10 = 3;
CREATE TABLE delta.`{lake}/marked` SHALLOW CLONE delta.`{lake}/vectors`;
REORG TABLE delta.`{lake}/vectors` APPLY (PURGE);

CREATE TABLE delta.`{lake}/mapped` USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')
  AS SELECT id, score, prediction FROM events WHERE id < 20;
ALTER TABLE delta.`{lake}/mapped` RENAME COLUMN score TO chance;
CREATE TABLE delta.`{lake}/copied` USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')
  AS SELECT * FROM delta.`{lake}/mapped`;

CREATE TABLE delta.`{lake}/history` USING delta PARTITIONED BY (country, day)
  TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.checkpointInterval' = '2')
  AS SELECT * FROM events WHERE id < 100;
UPDATE delta.`{lake}/history` SET score = score + 1 WHERE id % 50 = 7;
ALTER TABLE delta.`{lake}/history` ADD COLUMNS (offer.stock INT, extra STRING AFTER id);
INSERT INTO delta.`{lake}/history` SELECT id, 'x', score, prediction, country, day, moment, local, amount, narrow,
  named_struct('title', offer.title, 'price', offer.price, 'count', offer.count, 'stock', 7)
  FROM events WHERE id >= 160;
MERGE INTO delta.`{lake}/history` AS old USING (SELECT id + 190 AS id FROM range(20)) AS new ON old.id = new.id
  WHEN MATCHED THEN UPDATE SET old.score = 0.5
  WHEN NOT MATCHED THEN INSERT (id, score, prediction) VALUES (new.id, 2.5, 1);

CREATE TABLE delta.`{lake}/cloned` SHALLOW CLONE delta.`{lake}/history`;

CREATE TABLE delta.`{lake}/clustered` USING delta CLUSTER BY (moment, id)
  TBLPROPERTIES ('delta.enableDeletionVectors' = 'false') AS SELECT * FROM events;
OPTIMIZE delta.`{lake}/clustered`;
VACUUM delta.`{lake}/clustered` RETAIN 0 HOURS;
