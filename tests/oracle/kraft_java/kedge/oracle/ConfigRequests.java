package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.AbstractMap.SimpleEntry;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.UpdateFeaturesRequestData;
import org.apache.kafka.common.message.UpdateFeaturesRequestData.FeatureUpdateKey;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.requests.ApiError;

/** Dynamic configs, the levels of features, and quotas. */
final class ConfigRequests {
    private final Cluster cluster;

    ConfigRequests(Cluster cluster) {
        this.cluster = cluster;
    }

    void addTo(Map<String, Scenario.Action> actions) {
        actions.put("alterConfigs", this::alter);
        actions.put("legacyAlterConfigs", this::replace);
        actions.put("updateFeatures", this::updateFeatures);
        actions.put("alterQuotas", this::alterQuotas);
    }

    // ---- configs -----------------------------------------------------------------------------

    private Reply<?> alter(ObjectNode step) {
        Map<ConfigResource, Map<String, Map.Entry<OpType, String>>> changes =
            new LinkedHashMap<>();
        for (JsonNode given : step.required("resources")) {
            Map<String, Map.Entry<OpType, String>> ofOne = new TreeMap<>();
            for (JsonNode change : given.required("ops")) {
                OpType type = OpType.valueOf(upper(change.required(1).asText()));
                // not Map.entry, which refuses null: the value of a key to delete
                ofOne.put(change.required(0).asText(),
                    new SimpleEntry<>(
                        type, Fields.orNull(change.required(2))));
            }
            changes.put(resource(given), ofOne);
        }
        return reply(changes.keySet(), cluster.controller.incrementalAlterConfigs(
            cluster.asking(ApiKeys.INCREMENTAL_ALTER_CONFIGS), changes,
            Fields.flag(step, "validate_only")));
    }

    private Reply<?> replace(ObjectNode step) {
        Map<ConfigResource, Map<String, String>> configs = new LinkedHashMap<>();
        step.required("resources").forEach(given -> configs.put(
            resource(given), Fields.entries(given.required("configs"), Fields::orNull)));
        return reply(configs.keySet(), cluster.controller.legacyAlterConfigs(
            cluster.asking(ApiKeys.ALTER_CONFIGS), configs,
            Fields.flag(step, "validate_only")));
    }

    private static ConfigResource resource(JsonNode given) {
        return new ConfigResource(
            ConfigResource.Type.valueOf(upper(Fields.text(given, "type"))),
            Fields.text(given, "name"));
    }

    private static String upper(String name) {
        return name.toUpperCase(Locale.ROOT);
    }

    /** Kafka answers with a map; the answers are shown in the order of the request. */
    private static Reply<?> reply(
            Collection<ConfigResource> asked,
            CompletableFuture<Map<ConfigResource, ApiError>> coming) {
        return new Reply<>(coming, answer -> Fields.array(asked.stream()
            .map(resource -> Fields.outcome(answer.get(resource))
                .put("type", resource.type().name().toLowerCase(Locale.ROOT))
                .put("name", resource.name()))
            .toList()));
    }

    // ---- features ----------------------------------------------------------------------------

    private Reply<?> updateFeatures(ObjectNode step) {
        UpdateFeaturesRequestData request = new UpdateFeaturesRequestData()
            .setValidateOnly(Fields.flag(step, "validate_only"));
        step.required("updates").forEach(update -> request.featureUpdates().mustAdd(
            new FeatureUpdateKey()
                .setFeature(update.required(0).asText())
                .setMaxVersionLevel((short) update.required(1).asInt())
                .setUpgradeType(UpgradeType.valueOf(upper(update.required(2).asText())).code())));
        return new Reply<>(
            cluster.controller.updateFeatures(cluster.asking(ApiKeys.UPDATE_FEATURES), request),
            answer -> Fields.outcome(answer.errorCode(), answer.errorMessage()));
    }

    // ---- quotas ------------------------------------------------------------------------------

    private Reply<?> alterQuotas(ObjectNode step) {
        List<ClientQuotaAlteration> changes = Fields.each(step.required("entries"), entry ->
            new ClientQuotaAlteration(
                new ClientQuotaEntity(Fields.entries(entry.required("entity"), Fields::orNull)),
                Fields.each(entry.required("ops"), op -> new ClientQuotaAlteration.Op(
                    op.required(0).asText(),
                    op.required(1).isNull() ? null : op.required(1).asDouble()))));
        return new Reply<>(
            cluster.controller.alterClientQuotas(
                cluster.asking(ApiKeys.ALTER_CLIENT_QUOTAS), changes,
                Fields.flag(step, "validate_only")),
            answer -> Fields.array(changes.stream()
                .map(change -> show(change.entity(), answer.get(change.entity())))
                .toList()));
    }

    private static ObjectNode show(ClientQuotaEntity entity, ApiError error) {
        ObjectNode shown = Fields.outcome(error);
        ObjectNode parts = shown.putObject("entity");
        entity.entries().forEach(parts::put);
        return shown;
    }
}
